{#
    dbt's strategy `check`, with one null-safe comparison of structs for all columns: dbt's own SQL has five
    comparisons for each column, which is more than Spark compiles for a wide table.
#}
{%- macro snapshot_check_strategy(node, snapshotted_rel, current_rel, model_config, target_exists) -%}
    {%- set unique_key = config.get('unique_key') -%}
    {%- set updated_at = config.get('updated_at') or snapshot_get_time() -%}
    {%- set hard_deletes = adapter.get_hard_deletes_behavior(config) -%}
    {%- set column_added, checked = snapshot_check_all_get_existing_columns(node, target_exists, config.get('check_cols')) -%}
    {%- set row_changed -%}
        {%- if column_added -%}
            {{ get_true_sql() }}
        {%- elif target_exists -%}
            not ({{ lakemerge_checked_columns_sql(checked, snapshotted_rel) }} <=> {{ lakemerge_checked_columns_sql(checked, current_rel) }})
        {%- else -%}
            false
        {%- endif -%}
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
