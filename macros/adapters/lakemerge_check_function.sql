{#
    Refuses functions that Spark cannot keep in the metastore, and says what to use instead.

    Args:
        function: dbt's node.
#}
{% macro lakemerge_check_function(function) -%}
    {%- if function.language != 'sql' -%}
        {%- do exceptions.raise_compiler_error(
            'Expected a function in SQL; found ' ~ function.name ~ ' in ' ~ function.language
            ~ ', which Spark does not keep in the metastore. Write it in SQL, or register it in the Python model that'
            ~ ' uses it (`session.udf.register`).'
        ) -%}
    {%- elif function.config.get('type') == 'aggregate' -%}
        {%- do exceptions.raise_compiler_error(
            'Expected a scalar function; found the aggregate ' ~ function.name ~ ', and Spark has no aggregate functions'
            ~ ' in SQL. Let it take an array (`data_type: array<double>`) and fold that by `aggregate(…)`; call it as '
            ~ function.name ~ '(collect_list(value)).'
        ) -%}
    {%- elif adapter.is_spark_3() -%}
        {%- do exceptions.raise_compiler_error(
            'Expected Spark 4, which has functions in SQL; found Spark 3, and the function ' ~ function.name
            ~ '. Write a macro in its place.'
        ) -%}
    {%- endif -%}
{%- endmacro %}
