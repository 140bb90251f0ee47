{# Whether two structs of the table's columns have the same values; nulls are equal. Neither struct is null. #}
{%- macro lakemerge_rows_equal_sql(merge, left, right) -%}
    {%- if merge.columns | rejectattr('is_comparable') | list -%}
        {{ lakemerge_compared_row_sql(merge.columns, left) }} <=> {{ lakemerge_compared_row_sql(merge.columns, right) }}
    {%- else -%}
        {{ left }} <=> {{ right }}
    {%- endif -%}
{%- endmacro -%}
