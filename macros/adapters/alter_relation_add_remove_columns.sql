{#
    Adds and drops columns of a table in one commit.

    Args:
        relation: the table.
        add_columns: columns to add, null in existing rows; or none.
        remove_columns: columns to drop, or none.
#}
{% macro lakemerge__alter_relation_add_remove_columns(relation, add_columns, remove_columns) -%}
    {%- do adapter.alterations.alter(context, relation, add_columns or [], remove_columns or []) -%}
{%- endmacro %}
