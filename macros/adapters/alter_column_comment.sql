{#
    Writes the descriptions of columns to the metastore.

    Args:
        relation: the table.
        column_dict: dbt's columns, by name.
#}
{% macro lakemerge__alter_column_comment(relation, column_dict) -%}
    {%- set comments = {} -%}
    {%- for name, column in column_dict.items() -%}
        {%- do comments.update({name | lower: column['description']}) -%}
    {%- endfor -%}
    {%- do adapter.set_comments(relation, none, comments) -%}
{%- endmacro %}
