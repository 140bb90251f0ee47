{#
    Whether a JSON value, which is neither null nor JSON's null, is of a JSON type. The value is a variant or, on Spark 3.5, a marked
    text; see `marked_texts.py`. This file has all that differs between the two.

    Args:
        kind: `string`, `boolean`, `integer` (one that a long holds), `number`, or `exact` (a number that is known as it is written).
        value: SQL of the JSON value.
        number: SQL of the number in it as it is written; see `lakemerge_json_value_sql`.
#}
{%- macro lakemerge_json_is_sql(kind, value, options, number='null') -%}
    {%- set found = 'schema_of_variant(' ~ value ~ ')' -%}
    {%- if not options.has_variants -%}
        {{ value ~ " rlike '^n-?[0-9]+\\\\z'" if kind == 'integer' else value ~ " like '" ~ {'string': 's', 'boolean': '='}.get(kind, 'n') ~ "%'" }}
    {%- elif kind == 'integer' -%}
        {{ found }} = 'BIGINT'
    {%- elif kind == 'number' -%}
        ({{ found }} in ('BIGINT', 'DOUBLE') or {{ found }} like 'DECIMAL%')
    {%- elif kind == 'exact' -%}
        ({{ found }} = 'BIGINT' or {{ found }} like 'DECIMAL%' or ({{ found }} = 'DOUBLE' and {{ number }} is not null))
    {%- else -%}
        {{ found }} = '{{ kind | upper }}'
    {%- endif -%}
{%- endmacro -%}

{# Whether it is JSON's null. #}
{%- macro _lakemerge_json_is_null_sql(value, options) -%}
    {{ 'is_variant_null(' ~ value ~ ')' if options.has_variants else value ~ " = '=null'" }}
{%- endmacro -%}

{# A value that is no collection as one of a SQL type; null if it is none. #}
{%- macro _lakemerge_json_cast_sql(value, type_sql, options) -%}
    {%- if options.has_variants -%}
        try_variant_get({{ value }}, '$', '{{ type_sql }}')
    {%- else -%}
        try_cast(substr({{ value }}, 2) as {{ type_sql }})
    {%- endif -%}
{%- endmacro -%}

{# The items of an array; null if it is none. #}
{%- macro _lakemerge_json_items_sql(value, options) -%}
    {%- if options.has_variants -%}
        try_variant_get({{ value }}, '$', 'array<variant>')
    {%- else -%}
        if(startswith({{ value }}, '['), from_json({{ value }}, 'array<string>'), null)
    {%- endif -%}
{%- endmacro -%}

{# The members of an object by name; null if it is none. #}
{%- macro _lakemerge_json_members_sql(value, options) -%}
    {%- if options.has_variants -%}
        try_variant_get({{ value }}, '$', 'map<string,variant>')
    {%- else -%}
        if(startswith({{ value }}, '{'), from_json({{ value }}, 'map<string,string>'), null)
    {%- endif -%}
{%- endmacro -%}

{# A string as JSON. #}
{%- macro _lakemerge_json_of_string_sql(value, options) -%}
    {%- if options.has_variants -%}
        to_json({{ value }})
    {%- else -%}
        regexp_extract(to_json(named_struct('v', substr({{ value }}, 2))), '^.{5}(.*).$', 1)
    {%- endif -%}
{%- endmacro -%}
