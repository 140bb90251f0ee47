{# The statement that makes a model's rows readable as `lakemerge_feed`; of a Python model, the model itself. #}
{%- macro lakemerge_feed_statement(compiled_code, language) -%}
    {%- if language == 'python' -%}
        {{ compiled_code }}
    {%- else -%}
        create or replace temporary view lakemerge_feed as
        {{ compiled_code }}
    {%- endif -%}
{%- endmacro -%}
