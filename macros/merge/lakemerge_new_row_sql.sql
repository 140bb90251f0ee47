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
                when held is null then {{ _lakemerge_brought_row_sql(merge) }}
                else named_struct(
                    {%- for column in merge.columns %}
                    '{{ column.name | replace("\\", "\\\\") | replace("'", "\\'") }}', {{ _lakemerge_updated_value_sql(column) }}{{ ',' if not loop.last }}
                    {%- endfor %}
                )
            end
        )
{%- endif -%}
{%- endmacro -%}

{# The row of a change whose key has none yet: null for what the change does not bring. #}
{%- macro _lakemerge_brought_row_sql(merge) -%}
    {%- if merge.unavailable -%}
        named_struct(
                    {%- for column in merge.columns %}
                    '{{ column.name | replace("\\", "\\\\") | replace("'", "\\'") }}', {{ _lakemerge_brought_value_sql(column) }}{{ ',' if not loop.last }}
                    {%- endfor %}
                )
    {%- else -%}
        step.__row
    {%- endif -%}
{%- endmacro -%}

{%- macro _lakemerge_brought_value_sql(column) -%}
    {%- set value = 'step.__row.' ~ column.quoted -%}
    {{ 'if(' ~ column.is_unavailable('step.__row') ~ ', null, ' ~ value ~ ')' if column.unavailable else value }}
{%- endmacro -%}

{# A column of a stored row after an update. #}
{%- macro _lakemerge_updated_value_sql(column) -%}
    {%- set held = 'held.' ~ column.quoted -%}
    {%- if column.mode == 'keep' -%}
        {{ held }}
    {%- elif column.mode == 'coalesce' -%}
        coalesce({{ _lakemerge_brought_value_sql(column) }}, {{ held }})
    {%- elif column.unavailable -%}
        if({{ column.is_unavailable('step.__row') }}, {{ held }}, step.__row.{{ column.quoted }})
    {%- else -%}
        step.__row.{{ column.quoted }}
    {%- endif -%}
{%- endmacro -%}
