{# The names of dbt's columns in the table of this snapshot, by dbt's own names for them. #}
{%- macro lakemerge_snapshot_column_names() -%}
    {{- return(config.get('snapshot_table_column_names') or get_snapshot_table_column_names()) -}}
{%- endmacro -%}
