{#
    The tables that an operation is to work on, each with its `relation` and the `node` that writes it (none if no node
    does). A pattern that selects nothing is logged; a name without a schema that is no node's is an error.

    Args:
        select: one name or a list of names: of models, snapshots and seeds, or `schema.table` for tables that lakemerge
            has committed to. `*` stands for any text, but not in the schema.
#}
{%- macro lakemerge_selected_tables(select) -%}
    {%- set names = select.split() if select is string else select -%}
    {%- set found = {} -%}
    {%- for name in names -%}
        {%- set pattern = modules.re.escape(name).replace('\\*', '.*') ~ '$' -%}
        {%- set selected = [] -%}
        {%- for node in graph.nodes.values()
            if node.resource_type in ('model', 'snapshot', 'seed')
            and node.config.materialized not in ('view', 'ephemeral', 'function')
            and modules.re.match(pattern, node.name | string) -%}
            {%- set relation = api.Relation.create(schema=node.schema, identifier=node.alias, type='table') -%}
            {%- do selected.append({'relation': relation, 'node': node}) -%}
        {%- endfor -%}
        {%- if not selected and '.' in name -%}
            {%- for relation in adapter.operations.committed_tables(lakemerge_relation(name)) -%}
                {%- do selected.append({'relation': relation, 'node': lakemerge_node_of(relation)}) -%}
            {%- endfor -%}
        {%- endif -%}
        {%- if not selected and '*' in name -%}
            {%- do log(name ~ ': no table is selected', info=true) -%}
        {%- elif not selected -%}
            {%- do adapter.raise_typed('InvalidConfig', 'models, snapshots or seeds in `select`', name ~ ', which is none of this project', 'Correct the name, or write schema.table for a table that no model writes.') -%}
        {%- endif -%}
        {%- for one in selected if one.relation.render() not in found -%}
            {%- do found.update({one.relation.render(): one}) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{- return(found.values() | list) -}}
{%- endmacro -%}
