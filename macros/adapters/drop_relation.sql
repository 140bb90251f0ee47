{#
    Drops a relation by the type in its own field; `adapter.drop_relation` looks up the type first. A table is
    dropped with all its versions.

    Args:
        relation: a table, a view, a temporary view or a function.
#}
{% macro lakemerge__drop_relation(relation) -%}
    {%- if relation.is_table and not relation.in_session_only -%}
        {%- do adapter.operations.drop(relation) -%}
    {%- else -%}
        {%- call statement('drop_relation', auto_begin=false) -%}
            drop {{ 'function' if relation.type == 'function' else 'view' }} if exists {{ relation.render() }}
        {%- endcall -%}
    {%- endif -%}
{%- endmacro %}
