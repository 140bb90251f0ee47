{#
    dbt's strategy `timestamp`, with a comparison that nulls cannot defeat: a row without a time is older than one
    with a time.
#}
{%- macro snapshot_timestamp_strategy(node, snapshotted_rel, current_rel, model_config, target_exists) -%}
    {%- set unique_key = config.get('unique_key') -%}
    {%- set updated_at = config.get('updated_at') -%}
    {%- set hard_deletes = adapter.get_hard_deletes_behavior(config) -%}
    {%- set columns = config.get('snapshot_table_column_names') or get_snapshot_table_column_names() -%}
    {%- set row_changed -%}
        coalesce(
            {{ snapshotted_rel }}.{{ columns.dbt_valid_from }} < {{ current_rel }}.{{ updated_at }},
            {{ snapshotted_rel }}.{{ columns.dbt_valid_from }} is null and {{ current_rel }}.{{ updated_at }} is not null
        )
    {%- endset -%}
    {{- return({
        'unique_key': unique_key,
        'updated_at': updated_at,
        'row_changed': row_changed,
        'scd_id': snapshot_hash_arguments(api.Relation.scd_args(unique_key, updated_at)),
        'invalidate_hard_deletes': hard_deletes == 'invalidate',
        'hard_deletes': hard_deletes,
    }) -}}
{%- endmacro -%}
