{#
    The relation of a table's name as people type it.

    Args:
        name: `table` or `schema.table`.
#}
{%- macro lakemerge_relation(name) -%}
    {{- return(adapter.operations.table_named(name)) -}}
{%- endmacro -%}
