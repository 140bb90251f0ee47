{# Aggregates over `lakemerge_latest`, by name: counts, and the partitions that its rows belong to. #}
{%- macro lakemerge_latest_counts(merge) -%}
    {%- set partition = lakemerge_partition_sql(merge.partitions, '__row') -%}
    {%- set metrics = lakemerge_change_counts(merge) -%}
    {%- do metrics.update({'deletes': 'count_if(__is_delete and not __is_truncate)'}) -%}
    {%- if merge.sequence_metrics -%}
        {%- do metrics.update({
            'live_partitions': 'collect_set(if(__is_truncate or __is_delete, null, ' ~ partition ~ '))',
        }) -%}
    {%- endif -%}
    {%- if merge.partition_known -%}
        {%- do metrics.update({'partitions': 'collect_set(if(__is_truncate, null, ' ~ partition ~ '))'}) -%}
    {%- endif -%}
    {{- return(metrics) -}}
{%- endmacro -%}
