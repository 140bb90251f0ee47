{#
    The descriptions of a relation's columns, by name in lower case. Documented columns that the
    relation does not have are left out, with a warning.

    Args:
        relation: the relation, for the warning.
        documented_columns: dbt's columns of the node.
        existing_columns: names of the relation's columns.
#}
{% macro lakemerge_column_comments(relation, documented_columns, existing_columns) -%}
    {%- set comments = {} -%}
    {%- for name, column in validate_doc_columns(relation, documented_columns, existing_columns).items() -%}
        {%- if column['description'] -%}
            {%- do comments.update({name | lower: column['description']}) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(comments) }}
{%- endmacro %}
