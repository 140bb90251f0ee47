{#
    What the snapshot's strategy says: `unique_key`, `updated_at`, `row_changed`, `scd_id` and `hard_deletes`; and what
    the config says of dbt's columns: their `column_names`, and `valid_to_current`.

    dbt's contract for strategies: rows of the table go by `snapshotted_data`, those of the source by `source_data`.
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
