{#
    Read quarantined records again; see `lakemerge_replay`.

    Returns: the response; none where nothing is in quarantine.
#}
{%- macro lakemerge_replay_quarantine(target, node, config, where='true') -%}
    {%- if adapter.quarantine_of(target) is none -%}{{- return(none) -}}{%- endif -%}
    {%- set plan = adapter.ingest_plan(node) -%}
    {%- set outcome = namespace(response=none) -%}
    {%- for txn in adapter.transactions(target, node, config, 'replay') -%}
        {%- set chosen = adapter.open_quarantined(txn, plan, where) -%}
        {%- set counts = lakemerge_stage_replayed(txn, plan) if chosen else {'inserted': 0} -%}
        {%- if counts['inserted'] -%}
            {%- set before = txn.rows_before -%}
            {%- do txn.commit(counts, {'rows': none if before is none else before + counts['inserted']}) -%}
        {%- else -%}
            {%- do txn.skip() -%}
        {%- endif -%}
        {%- set outcome.response = adapter.ingest_response('replay', txn, counts) -%}
    {%- endfor -%}
    {{- return(outcome.response) -}}
{%- endmacro -%}
