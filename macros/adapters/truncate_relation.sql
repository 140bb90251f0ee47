{#
    Removes the rows of a table, as a version of its own.

    Args:
        relation: the table.
#}
{% macro lakemerge__truncate_relation(relation) -%}
    {%- do adapter.alterations.empty(context, relation) -%}
{%- endmacro %}
