{#
    What a statement changes, as `lakemerge_resolved_changes_sql` gives the changes of a feed: a row that gets another key
    is deleted by the old one, and inserted by the new one.

    Args:
        moves_keys: whether rows may get another key.
#}
{%- macro lakemerge_statement_resolved_sql(merge, moves_keys) -%}
{%- set same = lakemerge_same_key_sql(merge) -%}
{%- set known = ', _lakemerge_stored_sequence' if merge.stored_sequence -%}
select
    {{ lakemerge_keys_sql(merge) }}{{ known }}, __action, __new_row
from lakemerge_changed
where {{ "__action = 'delete' or (__action = 'update' and " ~ same ~ ")" if moves_keys else "__action in ('update', 'delete')" }}
{%- if moves_keys %}
union all
select
    {{ lakemerge_keys_sql(merge) }}{{ known }}, 'delete' as __action, __new_row
from lakemerge_changed
where __action = 'update' and not ({{ same }})
{%- endif %}
union all
select
    {% for key in merge.keys %}__new_row.{{ key.quoted }} as __key_{{ loop.index }}, {% endfor %}
    {{- '_lakemerge_stored_sequence, ' if merge.stored_sequence }}'insert' as __action, __new_row
from lakemerge_changed
where __action = 'insert'{{ " or (__action = 'update' and not (" ~ same ~ "))" if moves_keys }}
{%- endmacro -%}
