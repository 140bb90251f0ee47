{#
    A JSON value as a value of the type; null if it is not one.

    Args:
        type: a ValueType.
        json: SQL of the JSON value, neither null nor JSON's null; see `lakemerge_json_is_sql`.
        options: the model's IngestOptions.
        depth: how deep in the record it is, for names of its own.
        number: SQL of the numbers in it as they are written, in collections like its own; see `RecordGroup.number_sql`.
#}
{%- macro lakemerge_json_value_sql(type, json, options, depth=1, number='null') -%}
    {%- set kind = type.kind -%}
    {%- set item = 'item_' ~ depth -%}
    {%- if kind in ('decimal', 'date', 'timestamp', 'binary') -%}
        {{ lakemerge_text_value_sql(type, _lakemerge_json_text_sql(type, json, number, options), options) }}
    {%- elif kind == 'array' -%}
        transform({{ _lakemerge_json_items_sql(json, options) }}, ({{ item }}, at_{{ depth }}) -> {{ _lakemerge_json_item_sql(type.element, item, options, depth, 'get(' ~ number ~ ', at_' ~ depth ~ ')') }})
    {%- elif kind == 'map' -%}
        transform_values({{ _lakemerge_json_members_sql(json, options) }}, (key_{{ depth }}, {{ item }}) -> {{ _lakemerge_json_item_sql(type.element, item, options, depth, number ~ '[key_' ~ depth ~ ']') }})
    {%- elif kind == 'struct' -%}
        {%- set members = _lakemerge_json_members_sql(json, options) -%}
        named_struct(
            {%- for name, member in type.members -%}
                {{ adapter.string_literal(name) }}, {{ _lakemerge_json_item_sql(member, members ~ '[' ~ adapter.string_literal(name) ~ ']', options, depth, number ~ '.' ~ adapter.quote(name)) }}{{ ', ' if not loop.last }}
            {%- endfor -%}
        )
    {%- elif kind == 'float' and number != 'null' -%}
        if({{ number }} is null, {{ _lakemerge_json_cast_sql(json, type.sql, options) }}, try_cast({{ number }} as {{ type.sql }}))
    {%- else -%}
        {{ _lakemerge_json_cast_sql(json, type.sql, options) }}
    {%- endif -%}
{%- endmacro -%}

{# The value of an item or member; null where it is null or missing. #}
{%- macro _lakemerge_json_item_sql(type, json, options, depth, number) -%}
    {#- a struct of nulls is not null itself -#}
    if({{ json ~ ' is null or ' if type.kind == 'struct' }}{{ _lakemerge_json_is_null_sql(json, options) }}, null, {{ lakemerge_json_value_sql(type, json, options, depth + 1, number if type.has_numbers and options.has_variants else 'null') }})
{%- endmacro -%}

{# The text of a JSON value; a number as written, if its variant loses its notation. #}
{%- macro _lakemerge_json_text_sql(type, json, number, options) -%}
    {%- set text = _lakemerge_json_cast_sql(json, 'string', options) -%}
    {{ text if number == 'null' or not type.has_numbers else 'coalesce(' ~ number ~ ', ' ~ text ~ ')' }}
{%- endmacro -%}
