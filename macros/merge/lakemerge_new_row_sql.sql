{#
    The row that the table will hold for a change: the change's own row; for partial updates, the stored row after
    all newer changes of the key are applied to it in order. Null after a delete. Over the columns of the CTE
    `compared`.
#}
{%- macro lakemerge_new_row_sql(merge) -%}
{%- if not merge.partial -%}
__row
{%- else -%}
aggregate(
            {%- if merge.sequence %}
            filter(__steps, step -> coalesce(step.__sequence > greatest(__known_sequence, __horizon), true)),
            if(__horizon is null or __known_sequence > __horizon, __stored_row, null),
            {%- else %}
            __steps,
            __stored_row,
            {%- endif %}
            (held, step) -> case
                when step.__is_delete then null
                when held is null then step.__row
                else named_struct(
                    {%- for column in merge.columns %}
                    '{{ column.name | replace("\\", "\\\\") | replace("'", "\\'") }}',
                    {%- if column.mode == 'coalesce' %}
                    coalesce(step.__row.{{ column.quoted }}, held.{{ column.quoted }})
                    {%- else %}
                    {{ 'held' if column.mode == 'keep' else 'step.__row' }}.{{ column.quoted }}
                    {%- endif %}{{ ',' if not loop.last }}
                    {%- endfor %}
                )
            end
        )
{%- endif -%}
{%- endmacro -%}
