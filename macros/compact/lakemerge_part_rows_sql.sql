{# Stored rows of some partitions, in the table's columns and types. #}
{%- macro lakemerge_part_rows_sql(txn, condition) -%}
select
    {%- for column in txn.plan.columns %}
    {{ column.from_table }} as {{ column.quoted }}{{ ',' if not loop.last }}
    {%- endfor %}
from {{ txn.base_table }}
where {{ condition }}
{%- endmacro -%}
