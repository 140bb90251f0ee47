{# The number of rows that the table has after a merge; none where the number before is not known. #}
{%- macro lakemerge_rows_after(txn, metrics) -%}
    {%- set before = txn.rows_before -%}
    {{- return(none if before is none else before + metrics['inserted'] - metrics['deleted']) -}}
{%- endmacro -%}
