{#
    Drop a table with all its versions and everything that is kept beside it; by default only print what would be
    dropped.

        dbt run-operation lakemerge_drop --args '{table: old_products, dry_run: false}'

    Args:
        table: a name, with or without its schema.
        dry_run: only print what would be dropped.
#}
{%- macro lakemerge_drop(table, dry_run=true) -%}
    {%- if not execute -%}{{- return(none) -}}{%- endif -%}
    {%- do adapter.operations.check_flags({'dry_run': dry_run}) -%}
    {%- set named = lakemerge_relation(table) -%}
    {%- set relation = load_relation(named) -%}
    {%- if relation is none -%}
        {%- do adapter.raise_typed('TableNotFound', 'a table ' ~ named.render(), 'none of this name', 'Correct the name, or write schema.table for another schema than the target\'s.') -%}
    {%- elif not relation.is_table -%}
        {%- do adapter.raise_typed('UnsupportedTable', 'a table ' ~ named.render(), 'a ' ~ relation.type, 'Drop it in SQL: it has no versions.') -%}
    {%- endif -%}
    {%- if dry_run -%}
        {%- do log(table ~ ': would be dropped with all its versions (this is a dry run: set dry_run to false to drop it)', info=true) -%}
    {%- else -%}
        {%- do adapter.drop_relation(relation) -%}
        {%- do log(table ~ ': dropped', info=true) -%}
    {%- endif -%}
    {{- return(relation) -}}
{%- endmacro -%}
