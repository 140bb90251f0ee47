{#
    The new content of the partitions that a statement touches: the rows that it leaves alone, and the changed ones.

    Args:
        filter: SQL over the partition columns for the partitions.
        gathers: whether the rows of a partition are gathered into few files.
        has_new: whether there are changed rows, besides deleted ones.
#}
{%- macro lakemerge_statement_rows_sql(txn, filter, gathers, has_new) -%}
{%- set keys = txn.plan.columns | selectattr('is_partition') | map(attribute='quoted') | join(', ') -%}
select {% if gathers %}/*+ rebalance{{ '(' ~ keys ~ ')' if keys }} */{% endif %}
    *
from (
    select
        {%- for column in txn.plan.columns %}
        {{ column.from_table }} as {{ column.quoted }}{{ ',' if not loop.last }}
        {%- endfor %}
    from lakemerge_kept
    where {{ filter }}
    {%- if has_new %}
    union all
    select
        {%- for column in txn.plan.columns %}
        __new_row.{{ column.quoted }}{{ ',' if not loop.last }}
        {%- endfor %}
    from lakemerge_changed
    where __action <> 'delete'
    {%- endif %}
)
{%- endmacro -%}
