{# Compute the feed once, for strategies that must know its partitions first; returns their names. #}
{%- macro lakemerge_materialize_feed(txn) -%}
    {%- set columns = txn.plan.columns | selectattr('is_partition') | list -%}
    {%- set counts = adapter.materialize(
        'lakemerge_kept_feed',
        'select * from lakemerge_typed_feed',
        {'row_count': 'count(*)', 'partitions': 'collect_set(' ~ lakemerge_partition_sql(columns) ~ ')'}
    ) -%}
    {{- return({'rows': counts['row_count'], 'partitions': txn.names_of(counts['partitions'])}) -}}
{%- endmacro -%}
