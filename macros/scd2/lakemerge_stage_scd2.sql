{#
    Work out what the feed's changes do to the history and stage it.

    A history follows directly on the version that it read: what a commit makes of a key hangs on the ledger, and
    on open versions in partitions that another commit may be making.

    Returns: none if the table has moved on before it was read; else `writes` (whether there is anything to commit),
    `metrics`, and the number of `rows` after it if known.
#}
{%- macro lakemerge_stage_scd2(txn, scd2, config, feed) -%}
    {%- set scan = lakemerge_scd2_scan(txn, scd2, feed) -%}
    {%- if not txn.read(scan['open_partitions']) -%}
        {{- return(none) -}}
    {%- endif -%}
    {%- do txn.follow_directly() -%}
    {%- set late = lakemerge_meets_closed_versions(scd2, feed, scan) -%}
    {%- if (late or feed['truncates']) and not txn.read(scan['closed_partitions']) -%}
        {{- return(none) -}}
    {%- endif -%}
    {%- set has_ledger = adapter.open_ledger(txn, scd2.ledger_type) -%}
    {%- set versions = lakemerge_materialize_scd2_versions(txn, scd2, feed, scan, late, has_ledger) -%}
    {%- if versions['contradictions'] and config.on_sequence_tie == 'error' -%}
        {%- do lakemerge_refuse_contradictions(scd2) -%}
    {%- endif -%}
    {%- set metrics = {} -%}
    {%- for count in ('inserted', 'updated', 'deleted', 'ignored') -%}
        {%- do metrics.update({count: versions[count]}) -%}
    {%- endfor -%}
    {%- set written = lakemerge_stage_scd2_rows(txn, scd2, feed, versions, metrics) -%}
    {%- if txn.conflict is not none -%}
        {{- return(none) -}}
    {%- endif -%}
    {%- set remembers = lakemerge_stage_scd2_ledger(txn, scd2, feed, versions, has_ledger) -%}
    {%- set before = txn.rows_before -%}
    {%- set superseded = metrics['updated'] if scd2.bitemporal else -metrics['deleted'] -%}
    {{- return({
        'writes': written or remembers or txn.changes_schema or not scd2.exists,
        'metrics': metrics,
        'rows': none if before is none else before + metrics['inserted'] + superseded,
    }) -}}
{%- endmacro -%}
