{#
    Runs the statements of a text one after another in the node's own session. Settings, functions and temporary
    views that they create last until the node ends. A text of several statements may also precede a query: the
    connection runs them in turn.

    Args:
        text: statements separated by semicolons; none for the model's `sql_header`.
#}
{% macro lakemerge_run_session_statements(text=none) -%}
    {%- if execute -%}
        {%- for sql in adapter.split_statements(text or config.get('sql_header')) -%}
            {%- call statement('run_session_statements', auto_begin=false) -%}
                {{ sql }}
            {%- endcall -%}
        {%- endfor -%}
    {%- endif -%}
{%- endmacro %}
