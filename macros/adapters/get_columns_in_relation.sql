{#
    The columns of a relation. dbt-spark gives raw rows of `describe` here, from which dbt's snapshots
    read no names.

    Args:
        relation: a table, a view or a temporary view.
#}
{% macro lakemerge__get_columns_in_relation(relation) -%}
    {{ return(adapter.get_columns_in_relation(relation)) }}
{%- endmacro %}
