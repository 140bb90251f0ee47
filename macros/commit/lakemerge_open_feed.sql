{#
    Make a model's rows readable as `lakemerge_feed`. The rows of a query are readable immediately. A Python model may
    read its own table, so its rows are made when a transaction on that table has begun, and again for each later
    attempt.
#}
{%- macro lakemerge_open_feed(compiled_code, language) -%}
    {%- if language == 'python' -%}
        {%- do write(compiled_code) -%}
        {%- do adapter.feeds.open_python(model, compiled_code) -%}
    {%- else -%}
        {%- call statement('main') -%}
            {{ lakemerge_feed_statement(compiled_code) }}
        {%- endcall -%}
    {%- endif -%}
{%- endmacro -%}
