{#
    Writes a node's descriptions to the metastore in one call. Views get theirs when they are created.

    Args:
        relation: the table.
        model: dbt's node.
        for_relation: whether to write the table's description.
        for_columns: whether to write the columns' descriptions.
#}
{% macro lakemerge__persist_docs(relation, model, for_relation, for_columns) -%}
    {%- if execute and relation.is_table -%}
        {%- set description = model.description if for_relation and config.persist_relation_docs() else none -%}
        {%- set comments = {} -%}
        {%- if for_columns and config.persist_column_docs() and model.columns -%}
            {%- set existing = adapter.get_columns_in_relation(relation) | map(attribute='name') | list -%}
            {%- do comments.update(lakemerge_column_comments(relation, model.columns, existing)) -%}
        {%- endif -%}
        {%- if description or comments -%}
            {%- do adapter.set_comments(relation, description, comments) -%}
        {%- endif -%}
    {%- endif -%}
{%- endmacro %}
