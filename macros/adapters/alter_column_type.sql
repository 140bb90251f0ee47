{#
    Gives a column of a table another type, by one commit; a value that does not fit is refused.

    Args:
        relation: the table.
        column_name: the column, in any case.
        new_column_type: its new type.
#}
{% macro lakemerge__alter_column_type(relation, column_name, new_column_type) -%}
    {%- do adapter.alter_columns(context, relation, retype={column_name: new_column_type}) -%}
{%- endmacro %}
