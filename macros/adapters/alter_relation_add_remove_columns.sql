{#
    Adds and drops columns of a table, by one commit.

    Args:
        relation: the table.
        add_columns: columns to add, which are null in the rows that there are; none for none.
        remove_columns: columns to drop; none for none.
#}
{% macro lakemerge__alter_relation_add_remove_columns(relation, add_columns, remove_columns) -%}
    {%- do adapter.alter_columns(context, relation, add_columns or [], remove_columns or []) -%}
{%- endmacro %}
