{# dbt's function: a scalar function in SQL, kept in the metastore. Kinds that Spark cannot keep there are refused. #}
{% materialization function, adapter='lakemerge', supported_languages=['sql', 'python', 'javascript'] -%}
    {#- raises dbt's own errors for what a function in Python needs -#}
    {%- set _ = this.get_function_config(model) -%}
    {%- do adapter.staging.check(model) -%}
    {%- do lakemerge_check_function(model) -%}
    {%- do lakemerge_refuse_grants(this, config.get('grants')) -%}
    {%- do materialization_function_default() -%}
    {#- a model may have the function's name, and dbt would remember the function in its place -#}
    {{ return({'relations': []}) }}
{%- endmaterialization %}
