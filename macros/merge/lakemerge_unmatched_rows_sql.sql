{# The new content of the touched partitions, from `lakemerge_matched` and the changes; see `lakemerge_merged_rows_sql`. #}
{%- macro lakemerge_unmatched_rows_sql(merge, gather, change_files) -%}
select {{ lakemerge_gather_hint(merge, gather) }}
    *
from (
    select
        {%- for column in merge.columns %}
        {{ column.quoted }}{{ ',' if not loop.last }}
        {%- endfor %}
    from lakemerge_matched
    where __deletes is null
    union all
    {{ lakemerge_changed_rows_sql(merge, gather, change_files) | indent(4) }}
)
{%- endmacro -%}
