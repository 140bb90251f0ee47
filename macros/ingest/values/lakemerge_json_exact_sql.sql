{#
    Whether a JSON value is of the JSON type that the column's type asks for, and holds nothing that would be lost.

    Args:
        type: a ValueType.
        json: SQL of the JSON value, neither null nor JSON's null; see `lakemerge_json_is_sql`.
        options: the model's IngestOptions.
        depth: how deep in the record it is, for names of its own.
        number: SQL of its numbers as they are written; see `lakemerge_json_value_sql`.
        value: SQL of what `lakemerge_json_value_sql` makes of it, where that stands beside it.
#}
{%- macro lakemerge_json_exact_sql(type, json, options, depth=1, number='null', value=none) -%}
    {%- set kind = type.kind -%}
    {%- set text = _lakemerge_json_text_sql(type, json, number, options) -%}
    {%- set value = value or lakemerge_json_value_sql(type, json, options, depth, number) -%}
    {%- if kind in ('string', 'char', 'date', 'timestamp', 'binary') -%}
        {{ lakemerge_json_is_sql('string', json, options) }} and {{ lakemerge_text_exact_sql(type, text, value, options) }}
    {%- elif kind == 'integer' -%}
        {{ lakemerge_json_is_sql('integer', json, options) }} and {{ value }} is not null
    {%- elif kind == 'decimal' -%}
        ({{ lakemerge_json_is_sql('string', json, options) }} or {{ lakemerge_json_is_sql('exact', json, options, number) }}) and {{ lakemerge_text_exact_sql(type, text, value, options) }}
    {%- elif kind == 'float' -%}
        {{ lakemerge_json_is_sql('number', json, options) }} and (abs({{ value }}) between 4.9E-324D and 1.7976931348623157E308D or {{ text }} rlike '^[-.0]+(?:[eE][-+0-9]+)?\\z')
    {%- elif kind == 'boolean' -%}
        {{ lakemerge_json_is_sql('boolean', json, options) }}
    {%- else -%}
        {{ value }} is not null and {{ _lakemerge_json_items_exact_sql(type, json, options, depth, number) }}
    {%- endif -%}
{%- endmacro -%}

{# Whether all items or members are exact, and the members are those of the type. #}
{%- macro _lakemerge_json_items_exact_sql(type, json, options, depth, number) -%}
    {%- set item = 'item_' ~ depth -%}
    {%- set members = _lakemerge_json_members_sql(json, options) -%}
    {%- if type.kind == 'array' -%}
        not array_contains(transform({{ _lakemerge_json_items_sql(json, options) }}, ({{ item }}, at_{{ depth }}) -> coalesce({{ _lakemerge_json_item_exact_sql(type.element, item, options, depth, 'get(' ~ number ~ ', at_' ~ depth ~ ')') }}, false)), false)
    {%- elif type.kind == 'map' -%}
        not array_contains(map_values(transform_values({{ members }}, (key_{{ depth }}, {{ item }}) -> coalesce({{ _lakemerge_json_item_exact_sql(type.element, item, options, depth, number ~ '[key_' ~ depth ~ ']') }}, false))), false)
    {%- else -%}
        {{ members }} is not null
        {%- if options.extra_fields == 'reject' %}
        and size(array_except(map_keys({{ members }}), array({{ type.member_names }}))) = 0
        {%- endif -%}
        {%- for name, member in type.members %}
        {%- set field = members ~ '[' ~ adapter.string_literal(name) ~ ']' %}
        and {{ ('(' ~ field ~ ' is null or ') if options.missing_fields == 'null' else ('(' ~ field ~ ' is not null and ') }}{{ _lakemerge_json_item_exact_sql(member, field, options, depth, number ~ '.' ~ adapter.quote(name)) }})
        {%- endfor -%}
    {%- endif -%}
{%- endmacro -%}

{# Whether an item is null or exact. #}
{%- macro _lakemerge_json_item_exact_sql(type, json, options, depth, number) -%}
    ({{ _lakemerge_json_is_null_sql(json, options) }} or ({{ lakemerge_json_exact_sql(type, json, options, depth + 1, number if type.has_numbers and options.has_variants else 'null') }}))
{%- endmacro -%}
