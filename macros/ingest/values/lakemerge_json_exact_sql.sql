{#
    Whether a JSON value is of the JSON type that the column's type asks for, and holds nothing that would be lost.

    Args:
        type: a ValueType.
        variant: SQL of the JSON value as a variant, neither null nor JSON's null.
        options: the model's IngestOptions.
        depth: how deep in the record it is, for names of its own.
#}
{%- macro lakemerge_json_exact_sql(type, variant, options, depth=1) -%}
    {%- set kind = type.kind -%}
    {%- set found = 'schema_of_variant(' ~ variant ~ ')' -%}
    {%- set text = "try_variant_get(" ~ variant ~ ", '$', 'string')" -%}
    {%- set value = lakemerge_json_value_sql(type, variant, options, depth) -%}
    {%- if kind in ('string', 'char', 'date', 'timestamp', 'binary') -%}
        {{ found }} = 'STRING' and {{ lakemerge_text_exact_sql(type, text, value, options) }}
    {%- elif kind == 'integer' -%}
        {{ found }} = 'BIGINT' and {{ value }} is not null
    {%- elif kind == 'decimal' -%}
        ({{ found }} in ('BIGINT', 'STRING') or {{ found }} like 'DECIMAL%') and {{ lakemerge_text_exact_sql(type, text, value, options) }}
    {%- elif kind == 'float' -%}
        ({{ found }} in ('BIGINT', 'DOUBLE') or {{ found }} like 'DECIMAL%') and abs({{ value }}) < double('Infinity')
    {%- elif kind == 'boolean' -%}
        {{ found }} = 'BOOLEAN'
    {%- else -%}
        {{ value }} is not null and {{ _lakemerge_json_items_exact_sql(type, variant, options, depth) }}
    {%- endif -%}
{%- endmacro -%}

{# Whether all items or members are, and the members are those of the type. #}
{%- macro _lakemerge_json_items_exact_sql(type, variant, options, depth) -%}
    {%- set item = 'item_' ~ depth -%}
    {%- set members = "try_variant_get(" ~ variant ~ ", '$', 'map<string,variant>')" -%}
    {%- if type.kind == 'array' -%}
        forall(try_variant_get({{ variant }}, '$', 'array<variant>'), {{ item }} -> {{ _lakemerge_json_item_exact_sql(type.element, item, options, depth) }})
    {%- elif type.kind == 'map' -%}
        forall(map_values({{ members }}), {{ item }} -> {{ _lakemerge_json_item_exact_sql(type.element, item, options, depth) }})
    {%- else -%}
        {{ members }} is not null
        {%- if options.extra_fields == 'reject' %}
        and size(array_except(map_keys({{ members }}), array({{ type.member_names }}))) = 0
        {%- endif -%}
        {%- for name, member in type.members %}
        {%- set field = members ~ '[' ~ adapter.string_literal(name) ~ ']' %}
        and {{ ('(' ~ field ~ ' is null or ') if options.missing_fields == 'null' else ('(' ~ field ~ ' is not null and ') }}{{ _lakemerge_json_item_exact_sql(member, field, options, depth) }})
        {%- endfor -%}
    {%- endif -%}
{%- endmacro -%}

{# Whether an item is null or exact. #}
{%- macro _lakemerge_json_item_exact_sql(type, variant, options, depth) -%}
    (is_variant_null({{ variant }}) or ({{ lakemerge_json_exact_sql(type, variant, options, depth + 1) }}))
{%- endmacro -%}
