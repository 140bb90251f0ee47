{# Refuses dbt's materialized_view, which Spark cannot make of Hive tables. #}
{% materialization materialized_view, adapter='lakemerge' -%}
    {%- do exceptions.raise_compiler_error(
        'Expected a materialization that Hive tables have; found materialized_view on ' ~ this.render() ~ '. '
        ~ 'Use table, which every run computes again, incremental, which adds what is new, or view.'
    ) -%}
{%- endmaterialization %}
