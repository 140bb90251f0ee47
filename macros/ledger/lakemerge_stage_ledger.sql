{# Write what the ledger has to remember, and the ledger anew once it has many folders. #}
{%- macro lakemerge_stage_ledger(txn, merge) -%}
    {%- set anew = txn.has_many_folders('ledger') and adapter.open_ledger(txn, merge.ledger_type) -%}
    {%- set sql = lakemerge_compacted_ledger_sql(merge) if anew else lakemerge_ledger_rows_sql(merge) -%}
    {%- do txn.stage_side_data('ledger', sql, replace=anew) -%}
{%- endmacro -%}
