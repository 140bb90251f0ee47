{#
    Whether a text is written as its type asks, so that its value has the same meaning: nothing is rounded, cut or
    guessed.

    Args:
        type: a ValueType.
        text: SQL of the text, not null.
        value: SQL of what `lakemerge_text_value_sql` makes of it.
        options: the model's IngestOptions.
#}
{%- macro lakemerge_text_exact_sql(type, text, value, options) -%}
    {%- set kind = type.kind -%}
    {%- if kind == 'string' -%}
        true
    {%- elif kind == 'char' -%}
        char_length({{ text }}) <= {{ type.length }}
    {%- elif kind == 'integer' -%}
        {#- a cast accepts blanks and control characters around a number, all of which come before '!' -#}
        {{ value }} is not null and {{ text }} >= '!' and right({{ text }}, 1) >= '!'
    {%- elif kind == 'decimal' -%}
        {{ value }} is not null and {{ text }} rlike '^[+-]?[0-9]*[.]?[0-9]{0,{{ type.scale }}}0*\\z'
    {%- elif kind == 'float' -%}
        {#-
            A cast accepts blanks, hexadecimals and suffixes, and turns a number that is too small into zero. To search
            for characters that must not be there is cheapest.
        -#}
        {{ value }} is not null
        and ((abs({{ value }}) between 4.9E-324D and 1.7976931348623157E308D and not {{ text }} rlike '[^-+.0-9eE]') or {{ text }} rlike '^(?:NaN|-?Infinity|[-+.0]+(?:[eE][-+0-9]+)?)\\z')
    {%- elif kind == 'binary' -%}
        {#- a cast accepts blanks, missing padding and bits that belong to no byte -#}
        {{ value }} is not null and length({{ text }}) % 4 = 0 and {{ text }} rlike '^[A-Za-z0-9+/]*(?:[AQgw]==|[AEIMQUYcgkosw048]=)?\\z'
    {%- elif kind in ('date', 'timestamp') -%}
        {{ value }} is not null and {{ _lakemerge_text_time_exact_sql(kind, text, value, options) }}
    {%- elif kind in ('array', 'map', 'struct') -%}
        {{ value }} is not null and {{ _lakemerge_text_items_exact_sql(type, lakemerge_text_items_sql(text, options), options) }}
    {%- else -%}
        {{ value }} is not null
    {%- endif -%}
{%- endmacro -%}

{#
    Whether a text that a cast or a pattern accepts is an existing date or time stamp, written as its type asks, that
    files can hold.
#}
{%- macro _lakemerge_text_time_exact_sql(kind, text, value, options) -%}
    {%- set times = options.times -%}
    {%- set format = adapter.string_literal(options[kind ~ '_format']) -%}
    {%- if kind == 'date' and not options.date_format -%}
        {#-
            A cast accepts shorter months and days, longer years, and blanks or a time around them. Dots are what Java
            matches fastest.
        -#}
        {{ text }} rlike '^(?!0000|1582-10-(?:0[5-9]|1[0-4]))....-..-.[0-9]\\z'
    {%- elif kind == 'date' -%}
        {{ times.date_sql(value) }}
        {%- if times.clock_jumps %} and cast(to_timestamp_ntz({{ text }}, {{ format }}) as date) = {{ value }}{%- endif -%}
    {%- else -%}
        {{ times.timestamp_sql(value) }}
        {%- if not options.timestamp_format %}
        and {{ text }} rlike '^(?!0000)(?:....-..-..[ T]..:..:.[0-9]|[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.][0-9]{1,6})?)?(?: ?(?:Z|UTC|GMT|[+-][0-9:]+))?)\\z'
        {%- endif -%}
        {%- if times.clock_jumps and not options.timestamp_format %}
        and (cast({{ value }} as timestamp_ntz) = try_cast({{ text }} as timestamp_ntz) or {{ text }} rlike '(?:Z|UTC|GMT|[+-][0-9:]+)\\z')
        {%- elif times.clock_jumps and options.has_local_timestamps %}
        and cast({{ value }} as timestamp_ntz) = to_timestamp_ntz({{ text }}, {{ format }})
        {%- endif -%}
    {%- endif -%}
{%- endmacro -%}

{# Whether all items of a collection are exact. #}
{%- macro _lakemerge_text_items_exact_sql(collection, items, options) -%}
    {%- if collection.kind == 'array' -%}
        forall({{ items }}, item -> {{ _lakemerge_item_exact_sql(collection.element, 'item', options) }})
    {%- elif collection.kind == 'struct' -%}
        size({{ items }}) = {{ collection.members | length }}
        {%- for name, member in collection.members %}
        and {{ _lakemerge_item_exact_sql(member, 'get(' ~ items ~ ', ' ~ loop.index0 ~ ')', options) }}
        {%- endfor -%}
    {%- else -%}
        {%- set separator = options.map_key_split -%}
        forall({{ items }}, item -> size(split(item, {{ separator }}, -1)) = 2
            and {{ _lakemerge_item_exact_sql(collection.key, 'split(item, ' ~ separator ~ ', 2)[0]', options) }}
            and {{ _lakemerge_item_exact_sql(collection.element, 'get(split(item, ' ~ separator ~ ', 2), 1)', options) }})
    {%- endif -%}
{%- endmacro -%}

{# Whether an item is null or exact. #}
{%- macro _lakemerge_item_exact_sql(type, text, options) -%}
    ({{ text }} = {{ adapter.string_literal(options.null_literal) }} or ({{ lakemerge_text_exact_sql(type, text, lakemerge_text_value_sql(type, text, options), options) }}))
{%- endmacro -%}
