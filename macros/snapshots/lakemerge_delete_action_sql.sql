{# The action for a key that the source lacks; none if its current row already says that it is deleted. #}
{%- macro lakemerge_delete_action_sql(snapshot) -%}
{%- if snapshot.marks_deletes -%}
    if(snapshotted_data.{{ snapshot.is_deleted }} <=> 'True', null, 'delete')
{%- else -%}
    'delete'
{%- endif -%}
{%- endmacro -%}
