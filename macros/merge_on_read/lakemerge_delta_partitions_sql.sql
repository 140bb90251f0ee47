{#
    The partitions of the base that the deltas change: those of the stored rows that they replace, and those of their own
    rows. Column: partition_text, for `Partitions.names_of`.
#}
{%- macro lakemerge_delta_partitions_sql(txn) -%}
{%- set partitions = txn.plan.columns | selectattr('is_partition') | list -%}
select distinct {{ lakemerge_partition_sql(partitions, 'base') }} as partition_text
from {{ txn.base_table }} as base
left semi join {{ txn.deltas_table }} as deltas
    on {{ lakemerge_overlay_keys_equal_sql(txn, 'base', 'deltas') }}
union
select distinct {{ lakemerge_partition_sql(partitions, 'deltas') }} as partition_text
from {{ txn.deltas_table }} as deltas
where not deltas._lakemerge_deleted
{%- endmacro -%}
