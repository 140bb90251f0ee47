{#
    The value of a text; null if it is not one of the type.

    Args:
        type: a ValueType.
        text: SQL of the text, not null.
        options: the model's IngestOptions.
#}
{%- macro lakemerge_text_value_sql(type, text, options) -%}
    {%- set kind = type.kind -%}
    {%- if kind in ('string', 'char') -%}
        {{ text }}
    {%- elif kind == 'boolean' -%}
        {#- a cast accepts y, t, 1 and blanks, too -#}
        case lower({{ text }}) when 'true' then true when 'false' then false end
    {%- elif kind == 'date' and options.date_format -%}
        cast(try_to_timestamp({{ text }}, {{ adapter.string_literal(options.date_format) }}) as date)
    {%- elif kind == 'timestamp' and options.timestamp_format -%}
        try_to_timestamp({{ text }}, {{ adapter.string_literal(options.timestamp_format) }})
    {%- elif kind == 'binary' -%}
        try_to_binary({{ text }}, 'base64')
    {%- elif kind in ('array', 'map', 'struct') -%}
        {{ _lakemerge_text_collection_sql(type, lakemerge_text_items_sql(text, options), options) }}
    {%- else -%}
        try_cast({{ text }} as {{ type.sql }})
    {%- endif -%}
{%- endmacro -%}

{# A collection, made from the texts of its items. #}
{%- macro _lakemerge_text_collection_sql(collection, items, options) -%}
    {%- if collection.kind == 'array' -%}
        transform({{ items }}, item -> {{ _lakemerge_item_sql(collection.element, 'item', options) }})
    {%- elif collection.kind == 'struct' -%}
        named_struct(
            {%- for name, member in collection.members -%}
                {{ adapter.string_literal(name) }}, {{ _lakemerge_item_sql(member, 'get(' ~ items ~ ', ' ~ loop.index0 ~ ')', options) }}{{ ', ' if not loop.last }}
            {%- endfor -%}
        )
    {%- else -%}
        {%- set separator = options.map_key_split -%}
        {%- set keys -%}
            transform({{ items }}, item -> {{ _lakemerge_item_sql(collection.key, 'split(item, ' ~ separator ~ ', 2)[0]', options) }})
        {%- endset -%}
        {%- set values -%}
            transform({{ items }}, item -> {{ _lakemerge_item_sql(collection.element, 'get(split(item, ' ~ separator ~ ', 2), 1)', options) }})
        {%- endset -%}
        {#- a map with equal or null keys fails the query -#}
        if(exists({{ keys }}, key -> key is null) or size(array_distinct({{ keys }})) < size({{ keys }}), null, map_from_arrays({{ keys }}, {{ values }}))
    {%- endif -%}
{%- endmacro -%}

{# The value of an item; null if its text is the null literal. #}
{%- macro _lakemerge_item_sql(type, text, options) -%}
    if({{ text }} = {{ adapter.string_literal(options.null_literal) }}, null, {{ lakemerge_text_value_sql(type, text, options) }})
{%- endmacro -%}
