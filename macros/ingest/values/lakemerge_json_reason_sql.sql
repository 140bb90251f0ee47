{# The code of the problem of a JSON value that is not exact; see `lakemerge_json_exact_sql`. #}
{%- macro lakemerge_json_reason_sql(type, variant, options, number='null') -%}
    {%- set found = 'schema_of_variant(' ~ variant ~ ')' -%}
    {%- set text = _lakemerge_json_text_sql(type, variant, number) -%}
    {%- set value = lakemerge_json_value_sql(type, variant, options, number=number) -%}
    {%- if type.kind in ('string', 'boolean', 'array', 'map', 'struct') -%}
        'wrong_type'
    {%- elif type.kind in ('char', 'date', 'timestamp', 'binary') -%}
        if({{ found }} = 'STRING', {{ lakemerge_text_reason_sql(type, text, value) }}, 'wrong_type')
    {%- elif type.kind == 'integer' -%}
        case
            when {{ found }} = 'BIGINT' or abs(try_variant_get({{ variant }}, '$', 'decimal(38,0)')) > 9223372036854775807 then 'overflow'
            when {{ found }} = 'DOUBLE' or {{ found }} like 'DECIMAL%' then 'malformed_value'
            else 'wrong_type'
        end
    {%- else -%}
        case
            when {{ found }} in ('BIGINT', 'DOUBLE') or {{ found }} like 'DECIMAL%' {{ "or " ~ found ~ " = 'STRING'" if type.kind == 'decimal' }}
                then {{ lakemerge_text_reason_sql(type, text, value) }}
            else 'wrong_type'
        end
    {%- endif -%}
{%- endmacro -%}
