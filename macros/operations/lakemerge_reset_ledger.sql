{#
    Forget what a table's ledger remembers, when the model merges by another key or sequence from now on: earlier
    deletes and truncates, and the sequences that the table does not show. No row changes.

        dbt run-operation lakemerge_reset_ledger --args '{table: product_master}'

    Args:
        table: a name, with or without its schema.
        keep: keep the ledger, and only let the next merge set the key and sequence that it belongs to. For new names of
            the same columns.
#}
{%- macro lakemerge_reset_ledger(table, keep=false) -%}
    {%- do adapter.operations.check_flags({'keep': keep}) -%}
    {%- set version = adapter.merging.reset_ledger(lakemerge_relation(table), keep) -%}
    {%- if not version -%}
        {%- do log(table ~ ': it has no ledger', info=true) -%}
    {%- elif keep -%}
        {%- do log(table ~ ': the next merge records what its ledger is for (version ' ~ version ~ ')', info=true) -%}
    {%- else -%}
        {%- do log(table ~ ': its ledger is forgotten (version ' ~ version ~ ')', info=true) -%}
    {%- endif -%}
    {{- return(version) -}}
{%- endmacro -%}
