{#
    Delete the files that no kept version needs; by default only print them.

        dbt run-operation lakemerge_vacuum --args '{table: product_master, dry_run: false}'
        dbt run-operation lakemerge_vacuum --args '{select: "shop.*", retain_last: 5, max_bytes: 500gb, dry_run: false}'

    Args:
        table: a name, with or without its schema.
        retention_hours: versions that were the newest at some moment of these hours are kept; 168 is 7 days. This time
            must be longer than the longest query.
        dry_run: only print what would be deleted.
        select: instead of `table`, as in `lakemerge_selected_tables`. A table that fails does not stop the others.
        retain_last: this many of the newest versions are kept, however old they are.
        max_bytes: about how many bytes of each table one run frees at most; a number, or a size such as `10gb`.
        allow_short_retention: whether `retention_hours` may be below 24.
#}
{%- macro lakemerge_vacuum(table=none, retention_hours=168, dry_run=true, select=none, retain_last=1, max_bytes=none, allow_short_retention=false) -%}
    {%- if not execute -%}{{- return(none) -}}{%- endif -%}
    {%- do adapter.operations.check_flags({'dry_run': dry_run, 'allow_short_retention': allow_short_retention}) -%}
    {%- if (table is none) == (select is none) -%}
        {%- do adapter.raise_typed('InvalidConfig', '`table` or `select`', 'both' if table else 'neither', 'Name one table, or select several: {select: "*"} for those of this project.') -%}
    {%- endif -%}
    {%- set chosen = [] -%}
    {%- set failed = [] -%}
    {%- for one in lakemerge_selected_tables(select or []) -%}
        {%- set known = adapter.operations.attempt(adapter.operations.has_versions, one.relation, dry_run) -%}
        {%- do failed.append(lakemerge_shown_name(one.relation) ~ ': ' ~ known.error) if known.error -%}
        {%- do chosen.append(one.relation) if known.result -%}
    {%- endfor -%}
    {%- set unknown = failed | length -%}
    {%- do chosen.append(lakemerge_relation(table)) if table -%}
    {%- set verb = 'would delete' if dry_run else 'deleted' -%}
    {%- set found = [] -%}
    {%- for relation in chosen -%}
        {%- set name = table or lakemerge_shown_name(relation) -%}
        {%- set outcome = adapter.operations.attempt(adapter.operations.vacuum, relation, retention_hours, retain_last, max_bytes, dry_run, allow_short_retention) -%}
        {%- do failed.append(name ~ ': ' ~ outcome.error) if outcome.error -%}
        {%- for item in outcome.result or [] -%}
            {%- do found.append(item) -%}
            {%- do log(name ~ ': ' ~ verb ~ ' ' ~ item.path ~ ' (' ~ item.size ~ ' bytes, ' ~ item.reason ~ ')', info=true) -%}
        {%- endfor -%}
        {%- if not outcome.error -%}
            {%- do log(name ~ ': ' ~ verb ~ ' ' ~ (outcome.result | length) ~ ' items, ' ~ (outcome.result | sum(attribute='size')) ~ ' bytes' ~ (' (this is a dry run: set dry_run to false to delete them)' if dry_run else ''), info=true) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do lakemerge_raise_failed('vacuum', failed, (chosen | length) + unknown) -%}
    {{- return(found) -}}
{%- endmacro -%}
