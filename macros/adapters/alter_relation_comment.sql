{#
    Writes the description of a table to the metastore.

    Args:
        relation: the table.
        relation_comment: the description.
#}
{% macro lakemerge__alter_relation_comment(relation, relation_comment) -%}
    {%- do adapter.set_comments(relation, relation_comment, {}) -%}
{%- endmacro %}
