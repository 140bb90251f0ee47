{#
    A column of a version that begins: the source's value, except for the time and the id of a version that begins
    when this run saw it.
#}
{%- macro lakemerge_opened_column_sql(snapshot, column_plan) -%}
    {%- if column_plan.quoted == snapshot.names.dbt_valid_from -%}
        __begins
    {%- elif column_plan.quoted == snapshot.names.dbt_scd_id -%}
        if(__is_displaced, {{ snapshot_hash_arguments(['__last_scd_id', '__run_time']) }}, __source.{{ column_plan.quoted }})
    {%- elif snapshot.is_layout_column(column_plan) -%}
        {{ snapshot.layout.value('true') }}
    {%- else -%}
        __source.{{ column_plan.quoted }}
    {%- endif -%}
{%- endmacro -%}
