{#
    The new content of the touched partitions, from the changes and a view `lakemerge_matched_<number>` for each part of
    the query; see `lakemerge_merged_rows_sql`.
#}
{%- macro lakemerge_unmatched_rows_sql(merge, gathering, change_files) -%}
{%- for part in gathering.parts -%}
select {{ lakemerge_gather_hint(merge, gathering.hint) }}
    *
from (
    select
        {%- for column in merge.columns %}
        {{ column.quoted }}{{ ',' if not loop.last }}
        {%- endfor %}
    from lakemerge_matched_{{ loop.index }}
    where _lakemerge_deletes is null
    union all
    {{ lakemerge_changed_rows_sql(merge, gathering.hint, change_files, part.changes) | indent(4) }}
)
{{ 'union all' if not loop.last }}
{% endfor -%}
{%- endmacro -%}
