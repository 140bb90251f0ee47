{#
    Print what differs between two versions of a table: counts of rows, by column too, and some of the rows.

        dbt run-operation lakemerge_diff --args '{table: products, from_version: 12, samples: 5}'

    Args:
        table: a name, with or without its schema.
        from_version, from_timestamp, from_tag: the first version; before the first commit by default.
        to_version, to_timestamp, to_tag: the last version; the newest one by default.
        key: the columns that tell rows apart, where the table does not say.
        samples: how many rows to print.
        staged: compare with what was staged last and is not published (`publish: after_tests`), by default from the
            version that it was made for.
#}
{%- macro lakemerge_diff(
    table, from_version=none, from_timestamp=none, from_tag=none,
    to_version=none, to_timestamp=none, to_tag=none, key=none, samples=0, staged=false
) -%}
    {%- if not execute -%}{{- return(none) -}}{%- endif -%}
    {%- set start, end = [from_version, from_timestamp, from_tag], [to_version, to_timestamp, to_tag] -%}
    {%- set between = adapter.versions.between(context, lakemerge_relation(table), start, end, key) -%}
    {%- set found = adapter.versions.diff(between, samples, staged) -%}
    {%- do log(table ~ ': versions ' ~ found.from_version ~ ' to ' ~ found.to_version ~ ': ' ~ found.inserted ~ ' inserted, ' ~ found.updated ~ ' updated, ' ~ found.deleted ~ ' deleted, in ' ~ found.partitions ~ ' partitions that differ', info=true) -%}
    {%- for name, count in found.updated_columns.items() -%}
        {%- do log('  ' ~ name ~ ': updated in ' ~ count ~ ' rows', info=true) -%}
    {%- endfor -%}
    {%- for what, names in [('added', found.added_columns), ('removed', found.removed_columns)] if names -%}
        {%- do log('  columns ' ~ what ~ ': ' ~ (names | join(', ')), info=true) -%}
    {%- endfor -%}
    {%- for row in found.samples -%}
        {%- do log('  ' ~ row, info=true) -%}
    {%- endfor -%}
    {{- return(found) -}}
{%- endmacro -%}
