{#
    Take the name of a version away, and its table. Vacuum may delete the version then.

        dbt run-operation lakemerge_untag --args '{table: products, tag: month_end_2026_10}'

    Args:
        table: a name, with or without its schema.
        tag: the name.
#}
{%- macro lakemerge_untag(table, tag) -%}
    {%- if not execute -%}{{- return(none) -}}{%- endif -%}
    {%- do adapter.versions.untag(lakemerge_relation(table), tag) -%}
    {%- do log(table ~ ': no version is ' ~ tag ~ ' any more', info=true) -%}
{%- endmacro -%}
