{# A column of a version that begins: the source's, but for the time and the id of one that begins when this run saw it. #}
{%- macro lakemerge_begun_column_sql(snapshot, column) -%}
    {%- if column.quoted == snapshot.names.dbt_valid_from -%}
        __begins
    {%- elif column.quoted == snapshot.names.dbt_scd_id -%}
        if(__is_displaced, {{ snapshot_hash_arguments(['__last_scd_id', snapshot.run_time]) }}, __source.{{ column.quoted }})
    {%- elif snapshot.is_layout_column(column) -%}
        {{ snapshot.layout.value('true') }}
    {%- else -%}
        __source.{{ column.quoted }}
    {%- endif -%}
{%- endmacro -%}
