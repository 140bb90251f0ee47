{#
    The stored rows of the touched partitions, with _lakemerge_deletes: whether a change deletes the row; null if none matches
    it.
#}
{%- macro lakemerge_matched_stored_sql(merge, filter, join) -%}
select {{ lakemerge_join_hint(join, ['DBT_INTERNAL_SOURCE']) }}
    DBT_INTERNAL_DEST.*,
    DBT_INTERNAL_SOURCE.__is_delete as _lakemerge_deletes
from (
    {{ lakemerge_stored_rows_sql(merge, filter, join) | indent(4) }}
) as DBT_INTERNAL_DEST
left join (
    select {{ lakemerge_one_task_hint(join) }} {{ lakemerge_source_keys_sql(merge) }}, __is_delete from lakemerge_resolved
) as DBT_INTERNAL_SOURCE
    on {{ lakemerge_match_condition_sql(merge) }}
{%- endmacro -%}
