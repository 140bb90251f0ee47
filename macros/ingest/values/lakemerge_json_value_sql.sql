{#
    A JSON value as a value of the type; null if it is not one.

    Args:
        type: a ValueType.
        variant: SQL of the JSON value as a variant, neither null nor JSON's null.
        options: the model's IngestOptions.
        depth: how deep in the record it is, for names of its own.
        number: SQL of the numbers in it as they are written, in collections like its own; see `RecordGroup.number_sql`.
#}
{%- macro lakemerge_json_value_sql(type, variant, options, depth=1, number='null') -%}
    {%- set kind = type.kind -%}
    {%- set item = 'item_' ~ depth -%}
    {%- if kind in ('decimal', 'date', 'timestamp', 'binary') -%}
        {{ lakemerge_text_value_sql(type, _lakemerge_json_text_sql(type, variant, number), options) }}
    {%- elif kind == 'array' -%}
        transform(try_variant_get({{ variant }}, '$', 'array<variant>'), ({{ item }}, at_{{ depth }}) -> {{ _lakemerge_json_item_sql(type.element, item, options, depth, 'get(' ~ number ~ ', at_' ~ depth ~ ')') }})
    {%- elif kind == 'map' -%}
        transform_values(try_variant_get({{ variant }}, '$', 'map<string,variant>'), (key_{{ depth }}, {{ item }}) -> {{ _lakemerge_json_item_sql(type.element, item, options, depth, number ~ '[key_' ~ depth ~ ']') }})
    {%- elif kind == 'struct' -%}
        {%- set members = "try_variant_get(" ~ variant ~ ", '$', 'map<string,variant>')" -%}
        named_struct(
            {%- for name, member in type.members -%}
                {{ adapter.string_literal(name) }}, {{ _lakemerge_json_item_sql(member, members ~ '[' ~ adapter.string_literal(name) ~ ']', options, depth, number ~ '.' ~ adapter.quote(name)) }}{{ ', ' if not loop.last }}
            {%- endfor -%}
        )
    {%- elif kind == 'float' and number != 'null' -%}
        if({{ number }} is null, try_variant_get({{ variant }}, '$', '{{ type.sql }}'), try_cast({{ number }} as {{ type.sql }}))
    {%- else -%}
        try_variant_get({{ variant }}, '$', '{{ type.sql }}')
    {%- endif -%}
{%- endmacro -%}

{# The value of an item or member; null where it is null or missing. #}
{%- macro _lakemerge_json_item_sql(type, variant, options, depth, number) -%}
    if(is_variant_null({{ variant }}), null, {{ lakemerge_json_value_sql(type, variant, options, depth + 1, number if type.has_numbers else 'null') }})
{%- endmacro -%}

{# The text of a JSON value; a number as written, if its variant loses its notation. #}
{%- macro _lakemerge_json_text_sql(type, variant, number) -%}
    {%- set text = "try_variant_get(" ~ variant ~ ", '$', 'string')" -%}
    {{ text if number == 'null' or not type.has_numbers else 'coalesce(' ~ number ~ ', ' ~ text ~ ')' }}
{%- endmacro -%}
