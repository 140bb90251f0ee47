{#
    The name of a view of the rows that a table would have if what was staged last had been published.

        dbt show --inline "select * from {{ lakemerge_staged_rows('orders') }} where amount < 0"

    Args:
        name: a model, snapshot or seed, or `schema.table`.
#}
{%- macro lakemerge_staged_rows(name) -%}
    {%- if not execute -%}{{- return('') -}}{%- endif -%}
    {%- set one = lakemerge_selected_tables([name])[0] -%}
    {{- return(adapter.staging.staged_rows(one.relation, one.node.config.get('location_root') if one.node else none)) -}}
{%- endmacro -%}
