{# All rows of a table in the columns and types that it will have, in few files for each partition. #}
{%- macro lakemerge_own_rows_sql(txn) -%}
{%- set keys = txn.plan.columns | selectattr('is_partition') | map(attribute='quoted') | join(', ') -%}
select /*+ rebalance{{ '(' ~ keys ~ ')' if keys }} */
    *
from (
    {{ lakemerge_kept_rows_sql(txn, txn.partitions.stored) | indent(4) }}
)
{%- endmacro -%}
