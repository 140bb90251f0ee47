{#
    Whether a text is written as its type asks, so that its value is all that it says: nothing rounded, cut or guessed.

    Args:
        type: a ValueType.
        text: SQL of the text, not null.
        value: SQL of what `lakemerge_text_value_sql` makes of it.
        options: the model's IngestOptions.
#}
{%- macro lakemerge_text_exact_sql(type, text, value, options) -%}
    {%- set kind = type.kind -%}
    {%- set last = 'right(' ~ text ~ ', 1)' -%}
    {#- casts take blanks around a value -#}
    {%- set tight = 'ascii(' ~ text ~ ') > 32 and ' ~ last ~ " between '0' and '9'" -%}
    {%- if kind == 'string' -%}
        true
    {%- elif kind == 'char' -%}
        char_length({{ text }}) <= {{ type.length }}
    {%- elif kind == 'integer' -%}
        {{ value }} is not null and {{ tight }}
    {%- elif kind == 'decimal' -%}
        {{ value }} is not null and {{ tight }} and instr({{ text }}, 'e') = 0 and instr({{ text }}, 'E') = 0
        and (instr({{ text }}, '.') = 0 or length(trim(trailing '0' from {{ text }})) - instr({{ text }}, '.') <= {{ type.scale }})
    {%- elif kind == 'float' -%}
        {{ value }} is not null
        and ({{ text }} in ('NaN', 'Infinity', '-Infinity') or ({{ tight }} and abs({{ value }}) < double('Infinity') and instr(lower({{ text }}), 'x') = 0))
    {%- elif kind == 'boolean' -%}
        {{ value }} is not null and lower({{ text }}) in ('true', 'false')
    {%- elif kind == 'date' and not options.date_format -%}
        {{ value }} is not null and length({{ text }}) = 10 and substr({{ text }}, 5, 1) = '-' and substr({{ text }}, 8, 1) = '-' and {{ tight }}
    {%- elif kind == 'timestamp' and not options.timestamp_format -%}
        {{ value }} is not null and length({{ text }}) >= 16 and substr({{ text }}, 5, 1) = '-' and substr({{ text }}, 8, 1) = '-' and ascii({{ last }}) > 32
        and substr({{ text }}, 14, 1) = ':'
        and (length({{ text }}) <= 26 or not {{ text }} rlike '[.][0-9]{7}')
    {%- elif kind in ('array', 'map', 'struct') -%}
        {{ value }} is not null and {{ _lakemerge_text_items_exact_sql(type, lakemerge_text_items_sql(text, options), options) }}
    {%- else -%}
        {{ value }} is not null
    {%- endif -%}
{%- endmacro -%}

{# Whether all items of a collection are. #}
{%- macro _lakemerge_text_items_exact_sql(type, items, options) -%}
    {%- if type.kind == 'array' -%}
        forall({{ items }}, item -> {{ _lakemerge_item_exact_sql(type.element, 'item', options) }})
    {%- elif type.kind == 'struct' -%}
        size({{ items }}) = {{ type.members | length }}
        {%- for name, member in type.members %}
        and {{ _lakemerge_item_exact_sql(member, 'get(' ~ items ~ ', ' ~ loop.index0 ~ ')', options) }}
        {%- endfor -%}
    {%- else -%}
        {%- set separator = adapter.split_pattern(options.map_key_delimiter) -%}
        forall({{ items }}, item -> size(split(item, {{ separator }}, -1)) = 2
            and {{ _lakemerge_item_exact_sql(type.key, 'split(item, ' ~ separator ~ ', 2)[0]', options) }}
            and {{ _lakemerge_item_exact_sql(type.element, 'get(split(item, ' ~ separator ~ ', 2), 1)', options) }})
    {%- endif -%}
{%- endmacro -%}

{# Whether an item is null or exact. #}
{%- macro _lakemerge_item_exact_sql(type, text, options) -%}
    ({{ text }} = {{ adapter.string_literal(options.null_literal) }} or ({{ lakemerge_text_exact_sql(type, text, lakemerge_text_value_sql(type, text, options), options) }}))
{%- endmacro -%}
