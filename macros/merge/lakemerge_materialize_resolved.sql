{# Compute `lakemerge_resolved` once; returns the counts of each action, and the partitions that they touch. #}
{%- macro lakemerge_materialize_resolved(txn, merge, feed, scanned, has_ledger) -%}
    {%- set new_partition = lakemerge_partition_sql(merge.partitions, '__new_row') -%}
    {%- set metrics = {
        'inserted': "count_if(__action = 'insert')",
        'updated': "count_if(__action = 'update')",
        'deleted': "count_if(__action = 'delete')",
        'tombstones': "count_if(__action = 'tombstone')",
        'late': "count_if(__action = 'late')",
        'repeated': "count_if(__action = 'same')",
        'new_partitions': "collect_set(if(__action in ('insert', 'update'), " ~ new_partition ~ ", null))",
    } -%}
    {%- if merge.exists -%}
        {%- do metrics.update({
            'old_partitions': "flatten(collect_set(if(__action in ('insert', 'update', 'delete'), __partitions, null)))",
            'same_partitions': "flatten(collect_set(if(__action = 'same', __partitions, null)))",
        }) -%}
    {%- endif -%}
    {%- set sql = lakemerge_resolved_changes_sql(
        merge, txn.partition_filter(scanned), adapter.may_broadcast(feed['keys']), has_ledger
    ) -%}
    {%- set counts = adapter.materialize('lakemerge_resolved', sql, metrics) -%}
    {%- do counts.update({
        'keys': feed['keys'],
        'truncates': feed['truncates'],
        'metrics': {
            'inserted': counts['inserted'],
            'updated': counts['updated'],
            'deleted': counts['deleted'],
            'ignored': counts['late'] + counts['repeated'] + counts['tombstones'],
            'late': counts['late'],
            'tombstones': counts['tombstones'],
        },
    }) -%}
    {{- return(counts) -}}
{%- endmacro -%}
