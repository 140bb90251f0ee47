{# Compute `lakemerge_versions` once, the rows that a snapshot writes for the changed keys; returns their partitions. #}
{%- macro lakemerge_materialize_versions(txn, snapshot, strategy, counts) -%}
    {%- set with_ended = snapshot.may_have_ended and counts['inserted'] > 0 -%}
    {%- if with_ended -%}
        {%- do adapter.materialize('lakemerge_ended', lakemerge_ended_rows_sql(txn, snapshot, strategy), {'keys': 'count(*)'}) -%}
    {%- endif -%}
    {%- set metrics = {
        'partitions': 'collect_set(' ~ lakemerge_partition_sql(snapshot.partitions) ~ ')'
    } -%}
    {%- do adapter.define_view('lakemerge_timed', lakemerge_timed_changes_sql(snapshot, with_ended)) -%}
    {{- return(adapter.materialize('lakemerge_versions', lakemerge_versions_sql(snapshot), metrics)) -}}
{%- endmacro -%}
