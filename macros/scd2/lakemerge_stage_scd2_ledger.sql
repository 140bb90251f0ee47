{#
    Write what the table does not show and later changes hang on to the ledger: changes within a version, deletes that
    end none, truncates. The ledger is written anew once it has many folders.

    Returns: whether anything was written.
#}
{%- macro lakemerge_stage_scd2_ledger(txn, scd2, feed, versions, has_ledger) -%}
    {%- set new_truncates = 0 -%}
    {%- if feed['truncates'] -%}
        {%- set new_truncates = adapter.rows_of(lakemerge_scd2_new_truncates_sql(has_ledger)) | length -%}
    {%- endif -%}
    {%- if not (versions['remembered'] or new_truncates) -%}
        {{- return(false) -}}
    {%- endif -%}
    {%- set anew = has_ledger and txn.has_many_folders('ledger') -%}
    {%- do txn.stage_side_data('ledger', lakemerge_scd2_ledger_sql(scd2, has_ledger, anew), replace=anew) -%}
    {{- return(true) -}}
{%- endmacro -%}
