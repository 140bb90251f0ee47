{# The rows of a snapshot's first source, with the _lakemerge_action of `lakemerge_snapshot_changes_sql`. #}
{%- macro lakemerge_first_changes_sql(snapshot, strategy) -%}
select
    *,
    case
        when {% for key in snapshot.keys %}{{ key }} is null{{ ' or ' if not loop.last }}{% endfor %} then 'null key'
        when _lakemerge_source_rows > 1 then 'duplicate'
        else 'insert'
    end as _lakemerge_action
from ({{ lakemerge_source_rows_sql(snapshot, strategy) }})
{%- endmacro -%}
