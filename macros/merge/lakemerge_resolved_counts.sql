{#
    Aggregates over `lakemerge_resolved`, by name: the number of changes by action, and the partitions that they
    touch.
#}
{%- macro lakemerge_resolved_counts(merge) -%}
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
    {{- return(metrics) -}}
{%- endmacro -%}
