{#
    Delete the files that no version of the retention time needs; by default only say which.

        dbt run-operation lakemerge_vacuum --args '{table: product_master, dry_run: false}'

    Args:
        table: a name, with or without its schema.
        retention_hours: versions that were the newest at some moment of these hours are kept; 168 is 7 days. It must
            outlive the longest query.
        dry_run: only say what would be deleted.
#}
{%- macro lakemerge_vacuum(table, retention_hours=168, dry_run=true) -%}
    {%- set garbage = adapter.vacuum_table(lakemerge_relation(table), retention_hours, dry_run) -%}
    {%- set verb = 'would delete' if dry_run else 'deleted' -%}
    {%- for item in garbage -%}
        {%- do log(table ~ ': ' ~ verb ~ ' ' ~ item.path ~ ' (' ~ item.size ~ ' bytes, ' ~ item.reason ~ ')', info=true) -%}
    {%- endfor -%}
    {%- do log(
        table ~ ': ' ~ verb ~ ' ' ~ (garbage | length) ~ ' items, ' ~ (garbage | sum(attribute='size')) ~ ' bytes'
        ~ (' (this is a dry run: set dry_run to false to delete them)' if dry_run else ''),
        info=true
    ) -%}
    {{- return(garbage) -}}
{%- endmacro -%}
