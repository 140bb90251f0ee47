{#
    The head of a scalar function in SQL, which the metastore keeps.

    Args:
        target_relation: the function's name.
#}
{% macro lakemerge__scalar_function_create_replace_signature_sql(target_relation) -%}
    create or replace function {{ target_relation.render() }} ({{ formatted_scalar_function_args_sql() }})
    returns {{ model.returns.data_type }}
    {{ scalar_function_volatility_sql() }}
{%- endmacro %}
