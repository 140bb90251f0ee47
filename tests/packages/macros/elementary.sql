{# elementary's macros for Spark delete rows; those for Databricks truncate, and have their tables in a schema. #}
{% macro spark__edr_make_intermediate_relation(base_relation) %}
    {{ return(elementary.databricks__edr_make_intermediate_relation(base_relation)) }}
{% endmacro %}

{% macro spark__replace_table_data(relation, rows) %}
    {{ return(elementary.databricks__replace_table_data(relation, rows)) }}
{% endmacro %}
