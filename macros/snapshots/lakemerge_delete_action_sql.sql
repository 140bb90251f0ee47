{# What becomes of a key that the source lacks: nothing where its current row says already that it is deleted. #}
{%- macro lakemerge_delete_action_sql(snapshot) -%}
{%- if snapshot.marks_deletes -%}
    if(snapshotted_data.{{ snapshot.is_deleted }} <=> 'True', null, 'delete')
{%- else -%}
    'delete'
{%- endif -%}
{%- endmacro -%}
