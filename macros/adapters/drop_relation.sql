{#
    Drops a relation of the type that it says it has; `adapter.drop_relation` finds the type first.

    Args:
        relation: a table, a view or a temporary view.
#}
{% macro lakemerge__drop_relation(relation) -%}
    {%- call statement('drop_relation', auto_begin=false) -%}
        {%- if relation.is_view or relation.in_session_only -%}
            drop view if exists {{ relation.render() }}
        {%- else -%}
            drop table if exists {{ relation.render() }}
        {%- endif -%}
    {%- endcall -%}
{%- endmacro %}
