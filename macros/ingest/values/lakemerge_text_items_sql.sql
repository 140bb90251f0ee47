{# The texts of a collection's items; none if the text is empty. #}
{%- macro lakemerge_text_items_sql(text, options) -%}
    if({{ text }} = '', cast(array() as array<string>), split({{ text }}, {{ adapter.ingest.split_pattern(options.collection_delimiter) }}, -1))
{%- endmacro -%}
