{#
    How the files of a table are stored: `stored as orc` (default) or `stored as parquet`. Never `using <format>`:
    that creates a table of Spark's own kind, which other engines cannot read.
#}
{% macro lakemerge__file_format_clause() -%}
    {%- set file_format = config.get('file_format') or 'orc' -%}
    {%- if file_format | lower not in ['orc', 'parquet'] -%}
        {%- do exceptions.raise_compiler_error(
            "Expected `file_format` to be orc or parquet; found " ~ file_format
            ~ ". Correct it in the model's config."
        ) -%}
    {%- endif -%}
    stored as {{ file_format | lower }}
{%- endmacro %}
