{#
    Changes the type of a table's column in one commit. A stored value that does not fit is an error.

    Args:
        relation: the table.
        column_name: the column, in any case.
        new_column_type: its new type.
#}
{% macro lakemerge__alter_column_type(relation, column_name, new_column_type) -%}
    {%- do adapter.alterations.alter(context, relation, retype={column_name: new_column_type}) -%}
{%- endmacro %}
