{#
    Stored rows in the columns and types that the table will have.

    Args:
        partitions: names of the partitions to read.
        condition: SQL over the stored rows; rows for which it is not true are left out.
#}
{%- macro lakemerge_kept_rows_sql(txn, partitions, condition='true') -%}
select
    {%- for column in txn.plan.columns %}
    {{ column.from_table }} as {{ column.quoted }}{{ ',' if not loop.last }}
    {%- endfor %}
from {{ txn.table }}
where {{ txn.partitions.filter(partitions) }} and {{ condition }}
{%- endmacro -%}
