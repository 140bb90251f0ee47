{#
    What a statement does to rows of a table.

    Columns: __action (update, delete or insert), __old_partition (of a stored row, as text), __new_row (as the table will
    hold it; null for a delete); of a table with a key also __key_1… (of the stored row) and _lakemerge_stored_sequence: its
    sequence, where the table shows it. Of a history: __key_1…, __start, __end and __stands: whether it is a version that
    the table stands by.

    Args:
        merge: how a feed would be merged into the table, or none.
        scd2: how a feed would be merged into a history, in the place of the former, or none.
        changes: a list of Changes, each over a view.
#}
{%- macro lakemerge_statement_changes_sql(txn, merge, scd2, changes) -%}
{%- set partitions = txn.plan.columns | selectattr('is_partition') | list -%}
{%- for change in changes %}
select
    '{{ change.action }}' as __action,
    {{ lakemerge_partition_sql(partitions) if change.is_stored else 'cast(null as string)' }} as __old_partition,
    {%- if merge %}
    {%- for key in merge.keys %}
    {{ key.plan.from_table if change.is_stored else 'cast(null as ' ~ key.plan.type ~ ')' }} as __key_{{ loop.index }},
    {%- endfor %}
    {%- if merge.stored_sequence %}
    {{ merge.stored_sequence if change.is_stored else 'null' }} as _lakemerge_stored_sequence,
    {%- endif %}
    {%- elif scd2 %}
    {{ lakemerge_version_columns_sql(scd2) | indent(4) }},
    {%- endif %}
    {{ 'if(false, ' if change.action == 'delete' }}struct(
        {%- for column in txn.plan.columns %}
        {{ change.values.get(column.name, column.from_table) }} as {{ column.quoted }}{{ ',' if not loop.last }}
        {%- endfor %}
    ){{ ', null)' if change.action == 'delete' }} as __new_row
from {{ change.view }}
{{ 'where ' ~ change.where if change.where }}
{{ 'union all' if not loop.last }}
{%- endfor %}
{%- endmacro -%}
