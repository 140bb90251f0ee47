{#
    The rows of some partitions as readers see them, for the base to hold.

    Args:
        partitions: names of the partitions.
#}
{%- macro lakemerge_merged_partitions_sql(txn, partitions) -%}
{%- set keys = txn.plan.columns | selectattr('is_partition') | map(attribute='quoted') | join(', ') -%}
select /*+ rebalance{{ '(' ~ keys ~ ')' if keys }} */
    {%- for column in txn.plan.columns %}
    {{ column.quoted }}{{ ',' if not loop.last }}
    {%- endfor %}
from {{ txn.table }}
where {{ txn.partitions.filter(partitions, exact=true) }}
{%- endmacro -%}
