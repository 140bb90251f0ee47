{#
    Where stored versions of the feed's keys can be: names of partitions, and SQL that is true in them.

    In all of them, but where a key's partition follows from its changes (the key holds the partition columns, or the
    config says that a key never moves), each change names one, and no truncate is among them.

    Returns: `open_partitions`, `closed_partitions`, `open_filter`, `closed_filter`.
#}
{%- macro lakemerge_scd2_scan(txn, scd2, feed) -%}
    {%- set layout = scd2.layout -%}
    {%- if not scd2.merge.partition_known or feed['unplaced'] or feed['truncates'] -%}
        {{- return({
            'open_partitions': layout.open_partitions,
            'closed_partitions': layout.closed_partitions,
            'open_filter': layout.open_filter,
            'closed_filter': layout.closed_filter,
        }) -}}
    {%- endif -%}
    {%- set open_partitions = txn.names_of(feed['open_partitions']) -%}
    {%- set closed_partitions = layout.closed_beside(open_partitions) -%}
    {{- return({
        'open_partitions': open_partitions,
        'closed_partitions': closed_partitions,
        'open_filter': txn.partition_filter(open_partitions) ~ ' and ' ~ layout.open_filter,
        'closed_filter': txn.partition_filter(closed_partitions) ~ ' and ' ~ layout.closed_filter,
    }) -}}
{%- endmacro -%}
