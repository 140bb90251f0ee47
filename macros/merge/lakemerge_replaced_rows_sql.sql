{# The join that drops the stored rows that the changes replace; in a full sync, all but the unchanged ones. #}
{%- macro lakemerge_replaced_rows_sql(merge, join) -%}
{%- if merge.syncs -%}
    left semi join (
        select {{ lakemerge_one_task_hint(join) }} {{ lakemerge_source_keys_sql(merge) }} from lakemerge_resolved where __action in ('late', 'same')
    ) as DBT_INTERNAL_SOURCE
{%- else -%}
    left anti join (
        select {{ lakemerge_one_task_hint(join) }}
            {{ lakemerge_source_keys_sql(merge) }}{{ ', __row.*' if merge.predicates }}
        from lakemerge_resolved
        where __action in ('insert', 'update', 'delete')
    ) as DBT_INTERNAL_SOURCE
{%- endif %}
        on {{ lakemerge_match_condition_sql(merge) }}
{%- endmacro -%}
