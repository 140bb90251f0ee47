{# Compute `lakemerge_changes` once and refuse what has no right answer; returns its counts, and the partitions of the rows that it closes. #}
{%- macro lakemerge_materialize_changes(txn, snapshot, strategy) -%}
    {%- set metrics = lakemerge_snapshot_metrics() -%}
    {%- do metrics.update({
        'partitions': "collect_set(if(__action in ('update', 'delete'), "
            ~ lakemerge_partition_sql(snapshot.partitions, '__stored') ~ ", null))",
    }) -%}
    {%- set counts = adapter.materialize(
        'lakemerge_changes', lakemerge_snapshot_changes_sql(txn, snapshot, strategy), metrics
    ) -%}
    {%- do lakemerge_check_snapshot(snapshot, counts) -%}
    {{- return(counts) -}}
{%- endmacro -%}
