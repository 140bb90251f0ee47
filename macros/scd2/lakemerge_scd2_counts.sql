{# Aggregates over `lakemerge_changes`, by name; with the partitions of the keys' open versions if these are known. #}
{%- macro lakemerge_scd2_counts(scd2) -%}
    {%- set metrics = lakemerge_change_counts(scd2.merge) -%}
    {%- if scd2.merge.partition_known -%}
        {%- do metrics.update({
            'open_partitions': 'collect_set(if(__is_truncate, null, ' ~ lakemerge_scd2_partition_sql(scd2, '__row', 'null') ~ '))',
        }) -%}
    {%- endif -%}
    {{- return(metrics) -}}
{%- endmacro -%}
