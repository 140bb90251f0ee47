{#
    Work out what the latest changes do to the table and stage it, by the cheapest way that is right.

    Returns: none if the table has moved on before it was read; else `writes` (whether there is anything to commit), `metrics`, and the number of `rows` after it if known.
#}
{%- macro lakemerge_stage(txn, merge, config, feed) -%}
    {%- set scanned = txn.names_of(feed['partitions']) if lakemerge_scans_known_partitions(merge, feed) else none -%}
    {%- if not txn.read(scanned) -%}
        {{- return(none) -}}
    {%- endif -%}
    {%- if merge.sequence -%}
        {%- do txn.read_side_data('ledger', scanned) -%}
    {%- endif -%}
    {%- if lakemerge_can_skip_match(merge, txn, feed) -%}
        {%- set counts = lakemerge_stage_without_match(txn, merge, feed, scanned) -%}
        {{- return({'writes': true, 'metrics': counts['metrics'], 'rows': counts['rows']}) -}}
    {%- endif -%}
    {%- set has_ledger = merge.sequence != '' and adapter.open_ledger(txn, merge.ledger_type) -%}
    {%- set resolved = lakemerge_materialize_resolved(txn, merge, feed, scanned, has_ledger) -%}
    {%- if merge.stored_sequence and resolved['repeated'] and config.on_sequence_tie == 'error' -%}
        {%- do lakemerge_check_repeats(txn, merge, resolved) -%}
    {%- endif -%}
    {%- set counts = lakemerge_stage_merge(txn, merge, resolved, has_ledger) -%}
    {%- if counts is none -%}
        {{- return({'writes': false, 'metrics': resolved['metrics']}) -}}
    {%- endif -%}
    {{- return({'writes': true, 'metrics': counts['metrics'], 'rows': counts['rows']}) -}}
{%- endmacro -%}
