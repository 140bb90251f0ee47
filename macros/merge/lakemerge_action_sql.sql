{# The action of a change, as `lakemerge_resolved_changes_sql` lists it. #}
{%- macro lakemerge_action_sql(merge) -%}
case
    {%- if merge.sequence %}
        when __sequence <= __horizon then 'late'
        when __sequence < __known_sequence then 'late'
        when __sequence = __known_sequence then 'same'
        when __is_delete and __stored_rows = 0 then 'tombstone'
    {%- else %}
        when __is_delete and __stored_rows = 0 then 'same'
    {%- endif %}
        when __is_delete then 'delete'
        when __stored_rows = 0 then 'insert'
    {%- if merge.needs_stored_row and not merge.sequence %}
        when __stored_rows = 1 and {{ lakemerge_rows_equal_sql(merge, '__stored_row', '__new_row') }} then 'same'
    {%- endif %}
        else 'update'
    end
{%- endmacro -%}
