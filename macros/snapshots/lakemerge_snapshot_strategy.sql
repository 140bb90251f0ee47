{#
    The result of the snapshot's strategy: `unique_key`, `updated_at`, `row_changed`, `scd_id` and `hard_deletes`; and
    the config of dbt's columns: their `column_names`, and `valid_to_current`.

    By dbt's contract for strategies, rows of the table are called `snapshotted_data`, those of the source
    `source_data`.
#}
{%- macro lakemerge_snapshot_strategy(target_exists) -%}
    {%- set strategy_macro = strategy_dispatch(config.get('strategy')) -%}
    {%- set strategy = strategy_macro(model, 'snapshotted_data', 'source_data', model['config'], target_exists) -%}
    {%- do strategy.update({
        'scd_id': lakemerge_distinct_scd_id_sql(strategy),
        'column_names': lakemerge_snapshot_column_names(),
        'valid_to_current': config.get('dbt_valid_to_current'),
    }) -%}
    {{- return(strategy) -}}
{%- endmacro -%}
