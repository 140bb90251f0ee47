{#
    The columns of a relation. dbt-spark returns raw rows of `describe` here, in which dbt's snapshots find no column
    names.

    Args:
        relation: a table, a view or a temporary view.
#}
{% macro lakemerge__get_columns_in_relation(relation) -%}
    {{ return(adapter.get_columns_in_relation(relation)) }}
{%- endmacro %}
