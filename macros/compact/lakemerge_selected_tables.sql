{#
    The tables that an operation is to work on, each with its `relation` and the `node` that writes it (none if no node
    does).

    Args:
        select: a name or a list: of models, snapshots and seeds, or `schema.table` for tables that lakemerge has
            committed to. `*` stands for any text, but not in the schema.
#}
{%- macro lakemerge_selected_tables(select) -%}
    {%- set names = select.split() if select is string else select -%}
    {%- set found = {} -%}
    {%- for name in names -%}
        {%- set pattern = modules.re.escape(name).replace('\\*', '.*') ~ '$' -%}
        {%- set before = found | length -%}
        {%- for node in graph.nodes.values()
            if node.resource_type in ('model', 'snapshot', 'seed')
            and node.config.materialized not in ('view', 'ephemeral', 'function')
            and modules.re.match(pattern, node.name | string) -%}
            {%- set relation = api.Relation.create(schema=node.schema, identifier=node.alias, type='table') -%}
            {%- do found.update({relation.render(): {'relation': relation, 'node': node}}) -%}
        {%- endfor -%}
        {%- if (found | length) == before and '.' in name -%}
            {%- for relation in adapter.operations.committed_tables(lakemerge_relation(name)) if relation.render() not in found -%}
                {%- do found.update({relation.render(): {'relation': relation, 'node': lakemerge_node_of(relation)}}) -%}
            {%- endfor -%}
        {%- elif (found | length) == before and '*' not in name and names.index(name) == loop.index0 -%}
            {%- do adapter.raise_typed('InvalidConfig', 'models, snapshots or seeds in `select`', name ~ ', which is none of this project', 'Correct the name, or write schema.table for a table that no model writes.') -%}
        {%- endif -%}
    {%- endfor -%}
    {{- return(found.values() | list) -}}
{%- endmacro -%}
