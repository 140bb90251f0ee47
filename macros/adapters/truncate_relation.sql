{#
    Removes the rows of a table, as a version of its own.

    Args:
        relation: the table.
#}
{% macro lakemerge__truncate_relation(relation) -%}
    {%- do adapter.truncate_relation(relation) -%}
{%- endmacro %}
