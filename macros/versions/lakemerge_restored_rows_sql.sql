{#
    The rows of a view as they are written, each partition by one task.

    Args:
        view: of the rows that some partitions had.
#}
{%- macro lakemerge_restored_rows_sql(txn, view) -%}
{%- set keys = txn.plan.columns | selectattr('is_partition') | map(attribute='quoted') | join(', ') -%}
select /*+ rebalance{{ '(' ~ keys ~ ')' if keys }} */
    {%- for column in txn.plan.columns %}
    {{ column.quoted }}{{ ',' if not loop.last }}
    {%- endfor %}
from {{ view }}
{%- endmacro -%}
