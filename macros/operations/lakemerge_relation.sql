{#
    The relation of a table's name as people type it.

    Args:
        name: `table` or `schema.table`.
#}
{%- macro lakemerge_relation(name) -%}
    {%- set parts = name.split('.') -%}
    {{- return(api.Relation.create(
        schema=parts[0] if parts | length > 1 else target.schema, identifier=parts[-1], type='table'
    )) -}}
{%- endmacro -%}
