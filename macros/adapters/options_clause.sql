{# Refuses `options`, which only tables of Spark's own kind (`using <format>`) have. #}
{% macro lakemerge__options_clause() -%}
    {%- set others = [] -%}
    {%- for name in config.get('options') or {} if name | lower != 'fileformat' -%}{%- do others.append(name) -%}{%- endfor -%}
    {%- if others -%}
        {%- do exceptions.raise_compiler_error(
            "Expected no `options` in the config of a Hive table; found " ~ config.get('options')
            ~ ". Use `tblproperties`, such as {'orc.compress': 'ZLIB'}."
        ) -%}
    {%- endif -%}
{%- endmacro %}
