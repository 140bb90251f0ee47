{# The code of the problem of a JSON value that is not exact; see `lakemerge_json_exact_sql`. #}
{%- macro lakemerge_json_reason_sql(type, json, options, number='null') -%}
    {%- set text = _lakemerge_json_text_sql(type, json, number, options) -%}
    {%- set value = lakemerge_json_value_sql(type, json, options, number=number) -%}
    {%- if type.kind in ('string', 'boolean', 'array', 'map', 'struct') -%}
        'wrong_type'
    {%- elif type.kind in ('char', 'date', 'timestamp', 'binary') -%}
        if({{ lakemerge_json_is_sql('string', json, options) }}, {{ lakemerge_text_reason_sql(type, text, value) }}, 'wrong_type')
    {%- elif type.kind == 'integer' -%}
        case
            when {{ lakemerge_json_is_sql('integer', json, options) }} or abs({{ _lakemerge_json_cast_sql(json, 'decimal(38,0)', options) }}) > 9223372036854775807 then 'overflow'
            when {{ lakemerge_json_is_sql('number', json, options) }} then 'malformed_value'
            else 'wrong_type'
        end
    {%- else -%}
        case
            when {{ lakemerge_json_is_sql('number', json, options) }}{{ ' or ' ~ lakemerge_json_is_sql('string', json, options) if type.kind == 'decimal' }}
                then {{ lakemerge_text_reason_sql(type, text, value) }}
            else 'wrong_type'
        end
    {%- endif -%}
{%- endmacro -%}
