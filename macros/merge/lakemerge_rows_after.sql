{# The number of rows that the table has after a merge; none where the number before is not known. #}
{%- macro lakemerge_rows_after(txn, merge, metrics) -%}
    {%- set before = txn.rows_before -%}
    {#- with predicates a key may have several rows, so a matched key may be more than one row -#}
    {{- return(none if before is none or merge.predicates else before + metrics['inserted'] - metrics['deleted']) -}}
{%- endmacro -%}
