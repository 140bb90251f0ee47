{# The `comment` of a new table or view, where `persist_docs` asks for it. #}
{% macro lakemerge__comment_clause() -%}
    {%- if config.persist_relation_docs() and model.description -%}
        comment {{ adapter.string_literal(model.description) }}
    {%- endif -%}
{%- endmacro %}
