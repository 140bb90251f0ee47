{#
    Print the versions that were staged and not published, the newest of each table first.

        dbt run-operation lakemerge_staged
        dbt run-operation lakemerge_staged --args '{select: "orders stock"}'

    Args:
        select: tables, as in `lakemerge_selected_tables`; by default those of all models, snapshots and seeds.
#}
{%- macro lakemerge_staged(select=none) -%}
    {%- if not execute -%}{{- return([]) -}}{%- endif -%}
    {%- set found = [] -%}
    {%- for one in lakemerge_selected_tables(select or ['*']) -%}
        {%- for version in adapter.staging.staged_of(one.relation, one.node.config.get('location_root') if one.node else none) -%}
            {%- do found.append(dict(version, table=lakemerge_shown_name(one.relation))) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- for version in found -%}
        {%- do log(
            version.table ~ ': version ' ~ version.version ~ ' (' ~ version.operation ~ '), staged at ' ~ version.staged_at
            ~ ', ' ~ version.files ~ ' files: ' ~ version.because,
            info=true
        ) -%}
    {%- endfor -%}
    {%- do log('nothing is staged', info=true) if not found -%}
    {{- return(found) -}}
{%- endmacro -%}
