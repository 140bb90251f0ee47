{# The action for a key, as `lakemerge_snapshot_changes_sql` lists it; null for none. #}
{%- macro lakemerge_snapshot_action_sql(snapshot, strategy) -%}
case
    when source_data._lakemerge_source_rows is not null and ({% for key in snapshot.keys %}source_data.{{ key }} is null{{ ' or ' if not loop.last }}{% endfor %}) then 'null key'
    when source_data._lakemerge_source_rows > 1 then 'duplicate'
    when snapshotted_data._lakemerge_current_rows > 1 then 'several current'
    when snapshotted_data._lakemerge_current_rows is null then 'insert'
    when source_data._lakemerge_source_rows is null then {{ lakemerge_delete_action_sql(snapshot) }}
    {%- if snapshot.marks_deletes %}
    when snapshotted_data.{{ snapshot.is_deleted }} = 'True' then 'update'
    {%- endif %}
    when {{ strategy.row_changed }} then 'update'
end
{%- endmacro -%}
