{#
    Refuses grants.

    Args:
        relation: the node's relation.
        grant_config: the config `grants`.
        should_revoke: not used.
#}
{% macro lakemerge__apply_grants(relation, grant_config, should_revoke=true) -%}
    {%- do lakemerge_refuse_grants(relation, grant_config) -%}
{%- endmacro %}
