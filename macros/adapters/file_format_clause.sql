{#
    How the files of a table are stored: `stored as orc` (default) or `stored as parquet`. Never `using <format>`:
    that creates a table of Spark's own kind, which other engines cannot read.
#}
{% macro lakemerge__file_format_clause() -%}
    stored as {{ adapter.file_format(config.get('file_format'), config.get('options')) }}
{%- endmacro %}
