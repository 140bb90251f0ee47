{#
    Does nothing: `not_null` and `check` are enforced on the staged rows, before they are published,
    and Hive tables keep no constraints.

    Args:
        relation: the table.
        model: dbt's node.
#}
{% macro lakemerge__persist_constraints(relation, model) -%}
{%- endmacro %}
