{#
    A struct of columns that `<=>` can compare with another of them. One comparison of structs, however many columns there
    are: Spark goes down a row of comparisons by recursion, which ends at some thousand.

    Args:
        columns: list of MergeColumns.
        row: the struct or the alias that they are taken from.
        stored: where the stored values are, for the row of a change: a null that leaves the stored value as it is counts
            as that value. None for a row as it is.
#}
{%- macro lakemerge_compared_row_sql(columns, row, stored=none) -%}
    struct(
    {%- for column in columns -%}
        {%- set value = column.compared(row) -%}
        {%- set value = 'coalesce(' ~ value ~ ', ' ~ column.compared(stored) ~ ')' if stored and column.mode == 'coalesce' else value -%}
        {{ value }} as {{ column.quoted }}{{ ', ' if not loop.last }}
    {%- endfor -%}
    )
{%- endmacro -%}
