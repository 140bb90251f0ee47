{# The node of this project that writes a table; none if no node does. #}
{%- macro lakemerge_node_of(relation) -%}
    {%- for node in graph.nodes.values()
        if node.resource_type in ('model', 'snapshot', 'seed')
        and (node.schema | lower, node.alias | lower) == (relation.schema | lower, relation.identifier | lower) -%}
        {{- return(node) -}}
    {%- endfor -%}
    {{- return(none) -}}
{%- endmacro -%}
