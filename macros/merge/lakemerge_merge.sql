{#
    Merge the feed (`lakemerge_feed`) into a table, making the table where there is none.

    Args:
        target: the relation.
        config: the model's WriteConfig.
        rebuild: put a new table in the place of what is there.

    Returns: the response for dbt's result line.
#}
{%- macro lakemerge_merge(target, config, rebuild) -%}
    {%- set outcome = namespace(response=none, feed=none, columns=none) -%}
    {%- for txn in adapter.transactions(target, model, config, 'merge', rebuild=rebuild) -%}
        {%- set merge = adapter.merge_plan(txn) -%}
        {#- on a redo the feed's latest changes are read again only if the table has other columns by now -#}
        {%- if outcome.columns != merge.columns -%}
            {%- set outcome.columns = merge.columns -%}
            {%- set outcome.feed = lakemerge_materialize_latest(merge) -%}
            {%- do lakemerge_check_changes(merge, config, outcome.feed) -%}
            {%- do lakemerge_check_sync(config, outcome.feed) -%}
        {%- endif -%}
        {%- set scanned = txn.names_of(outcome.feed['partitions']) if lakemerge_scans_known_partitions(merge, outcome.feed) else none -%}
        {%- do txn.read(scanned) -%}
        {%- set has_ledger = txn.open_ledger() -%}
        {%- set resolved = lakemerge_materialize_resolved(txn, merge, outcome.feed, scanned, has_ledger) -%}
        {%- if merge.stored_sequence and resolved['repeated'] and config.on_sequence_tie == 'error' -%}
            {%- do lakemerge_check_repeats(txn, merge, resolved) -%}
        {%- endif -%}
        {%- set counts = lakemerge_stage_merge(txn, merge, resolved, has_ledger) -%}
        {%- if counts is none -%}
            {%- do txn.skip() -%}
        {%- else -%}
            {%- do txn.commit(counts['metrics'], {'rows': counts['rows']}) -%}
        {%- endif -%}
        {%- set outcome.response = adapter.commit_response('merge', txn, (counts or {}).get('metrics', resolved['metrics'])) -%}
    {%- endfor -%}
    {{- return(outcome.response) -}}
{%- endmacro -%}
