{#
    Aggregates over rows with an `__action`, by name.

    Args:
        snapshot: given if the rows have a `__stored` row: adds the partitions of the rows that are closed.
#}
{%- macro lakemerge_snapshot_metrics(snapshot=none) -%}
    {%- set metrics = {
        'inserted': "count_if(__action = 'insert')",
        'updated': "count_if(__action = 'update')",
        'deleted': "count_if(__action = 'delete')",
        'null_keys': "count_if(__action = 'null key')",
        'duplicates': "count_if(__action = 'duplicate')",
        'several_current': "count_if(__action = 'several current')",
    } -%}
    {%- if snapshot is not none -%}
        {%- do metrics.update({
            'partitions': "collect_set(if(__action in ('update', 'delete'), "
                ~ lakemerge_partition_sql(snapshot.partitions, '__stored') ~ ", null))",
        }) -%}
    {%- endif -%}
    {{- return(metrics) -}}
{%- endmacro -%}
