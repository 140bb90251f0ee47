{# A column of the version that marks a key as deleted (`hard_deletes: new_record`): the last version's values. #}
{%- macro lakemerge_deletion_column_sql(snapshot, column_plan) -%}
    {%- set names = snapshot.names -%}
    {%- if column_plan.quoted == names.dbt_valid_from -%}
        __begins
    {%- elif column_plan.quoted == names.dbt_updated_at -%}
        cast(__run_time as {{ column_plan.type }})
    {%- elif column_plan.quoted == names.dbt_valid_to -%}
        cast({{ snapshot.valid_to_current }} as {{ column_plan.type }})
    {%- elif column_plan.quoted == names.dbt_scd_id -%}
        {{ snapshot_hash_arguments(['__last_scd_id', '__run_time']) }}
    {%- elif column_plan.quoted == names.dbt_is_deleted -%}
        'True'
    {%- elif snapshot.is_layout_column(column_plan) -%}
        {{ snapshot.layout.value('true') }}
    {%- else -%}
        {{ '__stored.' ~ column_plan.quoted if column_plan.in_feed else column_plan.from_feed }}
    {%- endif -%}
{%- endmacro -%}
