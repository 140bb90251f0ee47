{# What makes a Python model's frame readable as `lakemerge_feed`; a SQL model's rows are already. #}
{%- macro lakemerge_after_feed(language) -%}
    {%- if language == 'python' -%}
        {%- do adapter.open_python_feed() -%}
    {%- endif -%}
{%- endmacro -%}
