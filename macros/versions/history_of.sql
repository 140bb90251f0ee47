{#
    The commits of a table, as something to select from: version, operation, committed_at, tags, node, agent, invocation_id,
    statement, partitions, files, bytes, metrics (a map of counts) and txn.

        select version, committed_at, metrics['deleted'] as deleted from {{ history_of(ref('products')) }}

    In unit tests it is the table itself; where the model is only compiled, nothing is read.

    Args:
        relation: the table: a `ref`, a `source`, or `this`.
#}
{%- macro history_of(relation) -%}
    {#- an operation has no model -#}
    {%- set node = model if model is defined else {} -%}
    {%- if not execute or node.resource_type == 'unit_test' -%}
        {{- return(relation) -}}
    {%- endif -%}
    {{- return(adapter.versions.history_of(relation, node, flags.WHICH)) -}}
{%- endmacro -%}
