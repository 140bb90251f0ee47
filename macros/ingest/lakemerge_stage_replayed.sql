{#
    Write the rows of the replayed records, and what is left of the quarantine in its place.

    Returns: how many were `inserted`, and how many of them stay `quarantined`.
#}
{%- macro lakemerge_stage_replayed(txn, plan) -%}
    {%- set observation = adapter.observe_view('lakemerge_records', lakemerge_observed_records_sql(plan), {
        'records': 'count(*)', 'rejected': 'count_if(not __ok)'
    }) -%}
    {%- set found = txn.stage_records(lakemerge_accepted_rows_sql(txn, plan), observation) -%}
    {%- set counts = {'inserted': found['records'] - found['rejected'], 'quarantined': found['rejected']} -%}
    {%- if found['rejected'] or adapter.rows_of('select 1 from lakemerge_unchosen limit 1') -%}
        {%- do txn.stage_quarantine(
            lakemerge_rejected_records_sql(plan) ~ '\nunion all\nselect * from lakemerge_unchosen', found['rejected'], replace=true
        ) -%}
    {%- else -%}
        {%- do txn.clear_quarantine() -%}
    {%- endif -%}
    {{- return(counts) -}}
{%- endmacro -%}
