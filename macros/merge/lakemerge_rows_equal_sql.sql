{# Whether two structs of the table's columns have the same values; nulls are equal. #}
{%- macro lakemerge_rows_equal_sql(merge, left, right) -%}
    {%- for column in merge.columns -%}
        {{ column.compared(left) }} <=> {{ column.compared(right) }}{{ ' and ' if not loop.last }}
    {%- endfor -%}
{%- endmacro -%}
