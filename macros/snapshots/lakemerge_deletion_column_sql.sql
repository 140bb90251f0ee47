{# A column of the version that says that a key is deleted (`hard_deletes: new_record`): the last one's values. #}
{%- macro lakemerge_deletion_column_sql(snapshot, column) -%}
    {%- set names = snapshot.names -%}
    {%- if column.quoted == names.dbt_valid_from -%}
        __begins
    {%- elif column.quoted == names.dbt_updated_at -%}
        cast({{ snapshot.run_time }} as {{ column.type }})
    {%- elif column.quoted == names.dbt_valid_to -%}
        cast({{ snapshot.valid_to_current }} as {{ column.type }})
    {%- elif column.quoted == names.dbt_scd_id -%}
        {{ snapshot_hash_arguments(['__last_scd_id', snapshot.run_time]) }}
    {%- elif column.quoted == names.dbt_is_deleted -%}
        'True'
    {%- elif snapshot.is_layout_column(column) -%}
        {{ snapshot.layout.value('true') }}
    {%- else -%}
        {{ '__stored.' ~ column.quoted if column.in_feed else column.from_feed }}
    {%- endif -%}
{%- endmacro -%}
