{# A change's row in the columns and types of the table. #}
{%- macro lakemerge_change_row_sql(merge) -%}
named_struct(
            {%- for column in merge.columns %}
            '{{ column.name | replace("\\", "\\\\") | replace("'", "\\'") }}', {{ column.from_feed }}{{ ',' if not loop.last }}
            {%- endfor %}
        )
{%- endmacro -%}
