{# A column of a version that ends: the stored value, except the end and the partition. #}
{%- macro lakemerge_closed_column_sql(snapshot, column_plan) -%}
    {%- if column_plan.quoted == snapshot.names.dbt_valid_to -%}
        __begins
    {%- elif snapshot.is_layout_column(column_plan) -%}
        {{ snapshot.layout.value('false') }}
    {%- else -%}
        __stored.{{ column_plan.quoted }}
    {%- endif -%}
{%- endmacro -%}
