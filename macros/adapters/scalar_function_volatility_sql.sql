{# Whether a function returns the same result for the same arguments; Spark has no word for `stable`. #}
{% macro lakemerge__scalar_function_volatility_sql() -%}
    {%- set volatility = model.config.get('volatility') -%}
    {%- if volatility == 'deterministic' -%}
        deterministic
    {%- elif volatility == 'non-deterministic' -%}
        not deterministic
    {%- elif volatility is not none -%}
        {%- do unsupported_volatility_warning(volatility) -%}
    {%- endif -%}
{%- endmacro %}
