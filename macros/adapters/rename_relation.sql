{#
    Renames a view, or a table without versions.

    Args:
        from_relation: the relation.
        to_relation: its new name.
#}
{% macro lakemerge__rename_relation(from_relation, to_relation) -%}
    {%- do adapter.check_renamable(from_relation) -%}
    {%- call statement('rename_relation') -%}
        alter {{ 'view' if from_relation.is_view else 'table' }} {{ from_relation.render() }}
        rename to {{ to_relation.render() }}
    {%- endcall -%}
{%- endmacro %}
