{#
    The rows that a snapshot writes for the changed keys, from `lakemerge_timed`: versions that end, and those that
    begin.
#}
{%- macro lakemerge_versions_sql(snapshot) -%}
select
    {%- for column in snapshot.columns %}
    {{ lakemerge_closed_column_sql(snapshot, column) }} as {{ column.quoted }}{{ ',' if not loop.last }}
    {%- endfor %}
from lakemerge_timed
where _lakemerge_action in ('update', 'delete')
union all
select
    {%- for column in snapshot.columns %}
    {{ lakemerge_opened_column_sql(snapshot, column) }} as {{ column.quoted }}{{ ',' if not loop.last }}
    {%- endfor %}
from lakemerge_timed
where _lakemerge_action in ('insert', 'update')
{%- if snapshot.marks_deletes %}
union all
select
    {%- for column in snapshot.columns %}
    {{ lakemerge_deletion_column_sql(snapshot, column) }} as {{ column.quoted }}{{ ',' if not loop.last }}
    {%- endfor %}
from lakemerge_timed
where _lakemerge_action = 'delete'
{%- endif %}
{%- endmacro -%}
