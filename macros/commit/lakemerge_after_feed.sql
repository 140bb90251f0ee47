{#
    The statement that makes a Python model's frame readable as `lakemerge_feed`; empty for a SQL model, whose rows
    are readable already.
#}
{%- macro lakemerge_after_feed(language) -%}
    {%- if language == 'python' -%}
        {%- do adapter.open_python_feed() -%}
    {%- endif -%}
{%- endmacro -%}
