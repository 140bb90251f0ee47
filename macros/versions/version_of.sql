{#
    A table as it was, as something to select from.

        select * from {{ version_of(ref('products'), version=12) }}

    The rows come from the very files that the version had, with the columns that it had. In unit tests, and where the
    model is only compiled, nothing is read. A model that is a view shows a table of the version, and may leave out which one:
    then it is the newest of when the view is built.

    Args:
        relation: the table: a `ref`, a `source`, or `this`.
        version: its number, as `lakemerge_history` shows it.
        timestamp: the last version that was committed by then; in UTC where it has no zone.
        tag: its name.
        group: the commit of several tables that made it, as `lakemerge_history` shows it.
#}
{%- macro version_of(relation, version=none, timestamp=none, tag=none, group=none) -%}
    {#- an operation has no model -#}
    {%- set node = model if model is defined else {} -%}
    {%- if not execute or node.resource_type == 'unit_test' -%}
        {{- return(relation) -}}
    {%- endif -%}
    {%- if node.resource_type == 'model' and node.config.materialized == 'view' -%}
        {{- return(adapter.versions.shown_by_view(relation, node, [version, timestamp, tag, group], adapter.staging.reads_staged(node), flags.WHICH)) -}}
    {%- endif -%}
    {{- return(adapter.versions.version_of(relation, node, version, timestamp, tag, group, flags.WHICH)) -}}
{%- endmacro -%}
