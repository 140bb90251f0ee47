{#
    A struct of columns that `<=>` can compare with another such struct. There is one comparison of structs, however
    many columns they have: Spark walks a chain of comparisons by recursion, which fails at some thousand.

    Args:
        columns: list of MergeColumns.
        row: the struct or the alias that they are taken from.
        stored: for the row of a change, where the stored values are: a null that leaves the stored value as it is
            counts as that value, and so does a value that the change does not bring. None to compare a row as it is.
#}
{%- macro lakemerge_compared_row_sql(columns, row, stored=none) -%}
    struct(
    {%- for column in columns -%}
        {%- set value = column.compared(row) -%}
        {%- set value = 'coalesce(' ~ value ~ ', ' ~ column.compared(stored) ~ ')' if stored and column.mode == 'coalesce' else value -%}
        {%- set value = 'if(' ~ column.is_unavailable(row) ~ ', ' ~ column.compared(stored) ~ ', ' ~ value ~ ')' if stored and column.unavailable else value -%}
        {{ value }} as {{ column.quoted }}{{ ', ' if not loop.last }}
    {%- endfor -%}
    )
{%- endmacro -%}
