{#
    The options of a merge of `lakemerge_debezium_changes`, for a model's config:
    `config(materialized='incremental', unique_key='id', **lakemerge_debezium_config())`.

    Args:
        parts: how many expressions the sequence has: 2 for nested events, 1 for flattened ones, unless it was given.
        unavailable: what the connector writes for a large value that did not change (its
            `unavailable.value.placeholder`): such a value stays as it is stored. None to take it as any other value.
#}
{%- macro lakemerge_debezium_config(parts=2, unavailable='__debezium_unavailable_value') -%}
    {%- set names = [] -%}
    {%- for number in range(1, parts + 1) -%}{%- do names.append('__sequence_' ~ number) -%}{%- endfor -%}
    {{- return({
        'incremental_strategy': 'merge',
        'sequence_by': names,
        'apply_as_deletes': "`__op` = 'd'",
        'apply_as_truncates': "`__op` = 't'",
        'except_column_list': names + ['__op'],
        'unavailable_value': unavailable
    }) -}}
{%- endmacro -%}
