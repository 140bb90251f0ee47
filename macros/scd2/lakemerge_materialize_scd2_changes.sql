{#
    Compute `lakemerge_changes` once; returns its counts, the lowest and the highest sequence as texts, and the
    partitions of its keys' open versions where these follow from the changes.
#}
{%- macro lakemerge_materialize_scd2_changes(scd2) -%}
    {%- set null_key -%}
        {%- for key in scd2.keys -%}__key_{{ loop.index }} is null{{ ' or ' if not loop.last }}{%- endfor -%}
    {%- endset -%}
    {%- set metrics = {
        'keys': 'count_if(not __is_truncate)',
        'changes': 'coalesce(sum(__changes), 0)',
        'null_keys': 'coalesce(sum(if(not __is_truncate and (' ~ null_key ~ '), __changes, 0)), 0)',
        'null_sequences': 'coalesce(sum(__null_sequences), 0)',
        'ties': 'count_if(__is_tie and not __is_truncate)',
        'truncates': 'count_if(__is_truncate)',
    } -%}
    {%- if scd2.merge.partition_known -%}
        {%- do metrics.update({
            'open_partitions': 'collect_set(if(__is_truncate, null, ' ~ lakemerge_scd2_partition_sql(scd2, '__row', 'null') ~ '))',
            'unplaced': 'count_if(' ~ lakemerge_no_partition_sql(scd2.merge) ~ ')',
        }) -%}
    {%- endif -%}
    {%- do metrics.update(scd2.merge.sequence_metrics) -%}
    {{- return(adapter.materialize('lakemerge_changes', lakemerge_scd2_changes_sql(scd2), metrics)) -}}
{%- endmacro -%}
