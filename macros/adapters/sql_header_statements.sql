{#
    A model's `sql_header` as text that may stand before a statement: it ends with a semicolon. The
    connection runs the statements of a text one after another, in the node's own session.

    Args:
        sql_header: the header; none for that of the model's config.
#}
{% macro sql_header_statements(sql_header=none) -%}
    {%- set header = (sql_header or config.get('sql_header') or '') | trim -%}
    {%- if header -%}
        {{ header }}{{ ';' if not header.endswith(';') }}
    {%- endif -%}
{%- endmacro %}
