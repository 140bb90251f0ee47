{#
    The partitions of the base that `lakemerge_deltas_to_fold` changes: those of the stored rows that it replaces, and those
    of its own rows. Column: partition_text, for `Partitions.names_of`.
#}
{%- macro lakemerge_delta_partitions_sql(txn) -%}
{%- set partitions = txn.plan.columns | selectattr('is_partition') | list -%}
select distinct {{ lakemerge_partition_sql(partitions, 'base') }} as partition_text
from {{ txn.base_table }} as base
left semi join lakemerge_deltas_to_fold as deltas
    on {{ lakemerge_overlay_keys_equal_sql(txn, 'base', 'deltas') }}
union
select distinct {{ lakemerge_partition_sql(partitions, 'deltas') }} as partition_text
from lakemerge_deltas_to_fold as deltas
where not deltas._lakemerge_deleted
{%- endmacro -%}
