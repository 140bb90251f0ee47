{#
    Creates a schema, if there is none of this name. A name that Hive does not take is refused before Spark is asked.

    Args:
        relation: the schema.
#}
{% macro lakemerge__create_schema(relation) -%}
    {%- if not modules.re.fullmatch('[A-Za-z0-9_]+', relation.schema | string) -%}
        {%- do adapter.raise_typed('InvalidConfig', 'a schema whose name has letters, digits and _ alone, as Hive takes it', relation.schema | string, 'Correct `schema` in the profile or in the config.') -%}
    {%- endif -%}
    {%- call statement('create_schema') -%}
        create schema if not exists {{ relation.render() }}
    {%- endcall -%}
{%- endmacro %}
