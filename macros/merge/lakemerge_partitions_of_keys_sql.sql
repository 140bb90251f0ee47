{#
    The partitions that hold rows with the feed's keys, as texts of `lakemerge_partition_sql`, in one row.

    Args:
        filter: SQL over the partition columns for the partitions to search.
        join: how the changes meet the stored rows; see `lakemerge_join_hint`.
#}
{%- macro lakemerge_partitions_of_keys_sql(merge, filter, join) -%}
select collect_set(__partition) as partitions
from (
    select {{ lakemerge_join_hint(join, ['DBT_INTERNAL_SOURCE']) }}
        {{ lakemerge_partition_sql(merge.partitions, 'DBT_INTERNAL_DEST') }} as __partition
    from (
        {{ lakemerge_stored_rows_sql(merge, filter, join) | indent(8) }}
    ) as DBT_INTERNAL_DEST
    left semi join (
        select {{ lakemerge_one_task_hint(join) }} {{ lakemerge_source_keys_sql(merge) }} from lakemerge_latest
    ) as DBT_INTERNAL_SOURCE
        on {{ lakemerge_match_condition_sql(merge) }}
)
{%- endmacro -%}
