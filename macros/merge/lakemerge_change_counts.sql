{#
    Aggregates over the computed changes of a feed, by name: those of every merge and, if the sequence has an exact
    text, the lowest and the highest sequence.
#}
{%- macro lakemerge_change_counts(merge) -%}
    {%- set metrics = {
        'keys': 'count_if(not __is_truncate)',
        'changes': 'coalesce(sum(__changes), 0)',
        'null_keys': 'coalesce(sum(if(' ~ lakemerge_null_key_sql(merge) ~ ', __changes, 0)), 0)',
        'null_sequences': 'coalesce(sum(__null_sequences), 0)',
        'ties': 'count_if(__is_tie and not __is_truncate)',
        'truncates': 'count_if(__is_truncate)',
    } -%}
    {%- if merge.partition_known -%}
        {%- do metrics.update({'unplaced': 'count_if(' ~ lakemerge_no_partition_sql(merge) ~ ')'}) -%}
    {%- endif -%}
    {%- if merge.unavailable -%}
        {%- do metrics.update({'unavailable': 'count_if(not (__is_truncate or __is_delete) and (' ~ merge.unavailable ~ '))'}) -%}
    {%- endif -%}
    {%- do metrics.update(merge.sequence_metrics) -%}
    {{- return(metrics) -}}
{%- endmacro -%}
