{# Compute `lakemerge_latest` once; returns its counts, and the partitions that its rows belong to. #}
{%- macro lakemerge_materialize_latest(merge) -%}
    {%- set null_key -%}
        {%- for key in merge.keys -%}__key_{{ loop.index }} is null{{ ' or ' if not loop.last }}{%- endfor -%}
    {%- endset -%}
    {%- set partition = lakemerge_partition_sql(merge.partitions, '__row') -%}
    {%- set metrics = {
        'keys': 'count_if(not __is_truncate)',
        'changes': 'coalesce(sum(__changes), 0)',
        'null_keys': 'coalesce(sum(if(not __is_truncate and (' ~ null_key ~ '), __changes, 0)), 0)',
        'null_sequences': 'coalesce(sum(__null_sequences), 0)',
        'ties': 'count_if(__is_tie and not __is_truncate)',
        'truncates': 'count_if(__is_truncate)',
        'deletes': 'count_if(__is_delete and not __is_truncate)',
    } -%}
    {%- if merge.sequence_metrics -%}
        {%- do metrics.update({
            'live_partitions': 'collect_set(if(__is_truncate or __is_delete, null, ' ~ partition ~ '))',
        }) -%}
    {%- endif -%}
    {%- if merge.partition_known -%}
        {%- do metrics.update({
            'partitions': 'collect_set(if(__is_truncate, null, ' ~ partition ~ '))',
            'unplaced': 'count_if(' ~ lakemerge_no_partition_sql(merge) ~ ')',
        }) -%}
    {%- endif -%}
    {%- do metrics.update(merge.sequence_metrics) -%}
    {{- return(adapter.materialize('lakemerge_latest', lakemerge_latest_changes_sql(merge), metrics)) -}}
{%- endmacro -%}
