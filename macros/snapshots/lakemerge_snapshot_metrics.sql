{#
    Aggregates over rows with an `_lakemerge_action`, by name.

    Args:
        snapshot: given if the rows have a `__stored` row: adds the partitions of the rows that are closed.
#}
{%- macro lakemerge_snapshot_metrics(snapshot=none) -%}
    {%- set metrics = {
        'inserted': "count_if(_lakemerge_action = 'insert')",
        'updated': "count_if(_lakemerge_action = 'update')",
        'deleted': "count_if(_lakemerge_action = 'delete')",
        'null_keys': "count_if(_lakemerge_action = 'null key')",
        'duplicates': "count_if(_lakemerge_action = 'duplicate')",
        'several_current': "count_if(_lakemerge_action = 'several current')",
    } -%}
    {%- if snapshot is not none -%}
        {%- do metrics.update({
            'partitions': "collect_set(if(_lakemerge_action in ('update', 'delete'), "
                ~ lakemerge_partition_sql(snapshot.partitions, '__stored') ~ ", null))",
        }) -%}
    {%- endif -%}
    {{- return(metrics) -}}
{%- endmacro -%}
