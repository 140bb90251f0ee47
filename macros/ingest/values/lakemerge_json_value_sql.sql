{#
    The value of a JSON value; null where it is none of the type.

    Args:
        type: a ValueType.
        variant: SQL of the JSON value as a variant, neither null nor JSON's null.
        options: the model's IngestOptions.
        depth: how deep in the record it is, for names of its own.
#}
{%- macro lakemerge_json_value_sql(type, variant, options, depth=1) -%}
    {%- set kind = type.kind -%}
    {%- set item = 'item_' ~ depth -%}
    {%- if kind in ('decimal', 'date', 'timestamp', 'binary') -%}
        {{ lakemerge_text_value_sql(type, "try_variant_get(" ~ variant ~ ", '$', 'string')", options) }}
    {%- elif kind == 'array' -%}
        transform(try_variant_get({{ variant }}, '$', 'array<variant>'), {{ item }} -> {{ _lakemerge_json_item_sql(type.element, item, options, depth) }})
    {%- elif kind == 'map' -%}
        transform_values(try_variant_get({{ variant }}, '$', 'map<string,variant>'), (key_{{ depth }}, {{ item }}) -> {{ _lakemerge_json_item_sql(type.element, item, options, depth) }})
    {%- elif kind == 'struct' -%}
        {%- set members = "try_variant_get(" ~ variant ~ ", '$', 'map<string,variant>')" -%}
        named_struct(
            {%- for name, member in type.members -%}
                {{ adapter.string_literal(name) }}, {{ _lakemerge_json_item_sql(member, members ~ '[' ~ adapter.string_literal(name) ~ ']', options, depth) }}{{ ', ' if not loop.last }}
            {%- endfor -%}
        )
    {%- else -%}
        try_variant_get({{ variant }}, '$', '{{ type.sql }}')
    {%- endif -%}
{%- endmacro -%}

{# The value of an item or member; null where it is null or missing. #}
{%- macro _lakemerge_json_item_sql(type, variant, options, depth) -%}
    if(is_variant_null({{ variant }}), null, {{ lakemerge_json_value_sql(type, variant, options, depth + 1) }})
{%- endmacro -%}
