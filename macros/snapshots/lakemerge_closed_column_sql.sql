{# A column of a version that ends: as it is stored, but for the end and the partition. #}
{%- macro lakemerge_closed_column_sql(snapshot, column) -%}
    {%- if column.quoted == snapshot.names.dbt_valid_to -%}
        __begins
    {%- elif snapshot.is_layout_column(column) -%}
        {{ snapshot.layout.value('false') }}
    {%- else -%}
        __stored.{{ column.quoted }}
    {%- endif -%}
{%- endmacro -%}
