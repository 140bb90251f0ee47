{#
    What changed in a table after a version, as something to select from: rows of the table's columns with `_change_type`
    (`insert`, `update_preimage`, `update_postimage`, `delete`), `_commit_version` and `_commit_timestamp`.

        select * from {{ changes(ref('products'), from_version=12) }}

    In unit tests it is the table itself; where the model is only compiled, nothing is read.

    Args:
        relation: the table: a `ref` or a `source`.
        from_version, from_timestamp, from_tag: the version whose rows are known; before the first commit by default.
        to_version, to_timestamp, to_tag: the last version; the newest one by default.
        key: the columns that tell rows apart, where the table does not say.
        net: what has become of each row from the first version to the last, and not what each commit did.
        preimages: whether updated rows are also given as they were.
#}
{%- macro changes(
    relation, from_version=none, from_timestamp=none, from_tag=none,
    to_version=none, to_timestamp=none, to_tag=none, key=none, net=false, preimages=true
) -%}
    {#- an operation has no model -#}
    {%- set node = model if model is defined else {} -%}
    {%- if not execute or node.resource_type == 'unit_test' -%}
        {{- return(relation) -}}
    {%- endif -%}
    {%- set start, end = [from_version, from_timestamp, from_tag], [to_version, to_timestamp, to_tag] -%}
    {%- set between = adapter.versions.between(context, relation, start, end, key) -%}
    {{- return(adapter.versions.changes(between, node, net, preimages, flags.WHICH)) -}}
{%- endmacro -%}
