{#
    Raises an error if a node has `grants`: open-source Spark has no such statement.

    Args:
        relation: the node's relation, for the error.
        grant_config: the config `grants`.
#}
{% macro lakemerge_refuse_grants(relation, grant_config) -%}
    {%- if grant_config -%}
        {%- do exceptions.raise_compiler_error(
            "Expected no `grants` on " ~ relation.render() ~ ": Spark cannot grant rights on Hive tables; found "
            ~ grant_config ~ ". Remove them, and grant rights with the tool that guards the metastore or its files."
        ) -%}
    {%- endif -%}
{%- endmacro %}
