{#
    Write a merge whose changes all are newer than what is stored: without matching first, counting as the touched
    partitions are written.

    Returns: as `lakemerge_stage_merge`.
#}
{%- macro lakemerge_stage_without_match(txn, merge, feed, scanned) -%}
    {%- set touched = txn.base_partitions + txn.names_of(feed['live_partitions']) if scanned is none else scanned -%}
    {%- do adapter.define_view('lakemerge_resolved', lakemerge_unmatched_changes_sql(merge)) -%}
    {%- set observed = adapter.observe_view(
        'lakemerge_matched',
        lakemerge_met_rows_sql(merge, txn.partition_filter(touched)),
        {'updated': 'count_if(not __deletes)', 'deleted': 'count_if(__deletes)'}
    ) -%}
    {%- set sql = lakemerge_unmatched_rows_sql(merge, txn.rebalances(touched), 1 + feed['keys'] // 1000000) -%}
    {%- do txn.stage(sql, touched, count=false, filled=txn.names_of(feed['live_partitions'])) -%}
    {%- set counts = observed.get -%}
    {%- set metrics = {
        'inserted': feed['keys'] - feed['deletes'] - counts['updated'],
        'updated': counts['updated'],
        'deleted': counts['deleted'],
        'ignored': feed['deletes'] - counts['deleted'],
        'tombstones': feed['deletes'] - counts['deleted'],
    } -%}
    {%- if feed['deletes'] or merge.keeps_live_sequences -%}
        {%- do lakemerge_stage_ledger(txn, merge) -%}
    {%- endif -%}
    {{- return({'metrics': metrics, 'rows': lakemerge_rows_after(txn, merge, metrics)}) -}}
{%- endmacro -%}
