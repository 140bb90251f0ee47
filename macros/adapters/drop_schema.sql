{#
    Drops a schema with everything in it, tables with all their versions.

    Args:
        relation: a relation of the schema.
#}
{% macro lakemerge__drop_schema(relation) -%}
    {%- for existing in adapter.list_relations_without_caching(relation) if existing.is_table -%}
        {%- do adapter.drop_table(existing) -%}
    {%- endfor -%}
    {%- call statement('drop_schema') -%}
        drop schema if exists {{ relation.without_identifier() }} cascade
    {%- endcall -%}
{%- endmacro %}
