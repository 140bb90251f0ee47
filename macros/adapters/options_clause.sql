{# Refuses `options`, which only tables of Spark's own kind (`using <format>`) have. #}
{% macro lakemerge__options_clause() -%}
    {%- if config.get('options') -%}
        {%- do exceptions.raise_compiler_error(
            "Expected no `options` in the config of a Hive table; found " ~ config.get('options')
            ~ ". Use `tblproperties`, such as {'orc.compress': 'ZLIB'}."
        ) -%}
    {%- endif -%}
{%- endmacro %}
