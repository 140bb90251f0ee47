{# The row that the table will hold for a change: its own, or a partial update of the stored one. #}
{%- macro lakemerge_new_row_sql(merge) -%}
{%- if not (merge.exists and merge.partial) -%}
latest.__row
{%- else -%}
named_struct(
    {%- for column in merge.columns %}
    {%- set change, kept = 'latest.__row.' ~ column.quoted, 'matched.__stored_row.' ~ column.quoted %}
            '{{ column.name | replace("\\", "\\\\") | replace("'", "\\'") }}',
    {%- if column.mode == 'coalesce' %}
            coalesce({{ change }}, if(latest.__replaces, null, {{ kept }}))
    {%- elif column.mode == 'keep' %}
            if(matched.__stored_rows is null or latest.__replaces, {{ change }}, {{ kept }})
    {%- else %}
            {{ change }}
    {%- endif %}{{ ',' if not loop.last }}
    {%- endfor %}
        )
{%- endif -%}
{%- endmacro -%}
