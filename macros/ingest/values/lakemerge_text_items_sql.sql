{# The texts of a collection's items; none if the text is empty. #}
{%- macro lakemerge_text_items_sql(text, options) -%}
    if({{ text }} = '', cast(array() as array<string>), split({{ text }}, {{ options.collection_split }}, -1))
{%- endmacro -%}
