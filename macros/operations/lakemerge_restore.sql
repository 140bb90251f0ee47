{#
    Bring a table back to what it was at a version, by one commit; by default only count what would change.

        dbt run-operation lakemerge_restore --args '{table: products, version: 12, dry_run: false}'

    Args:
        table: a name, with or without its schema.
        version: its number.
        timestamp: the last version that was committed by then; in UTC where it has no zone.
        tag: its name.
        partitions: SQL over the partition columns that is true in those which are brought back; all if not given.
        take_again: whether files, records of topics and partitions of sources that the table has read since count as
            unread.
        dry_run: only count what would change.
#}
{%- macro lakemerge_restore(table, version=none, timestamp=none, tag=none, partitions='', take_again=false, dry_run=true) -%}
    {%- if not execute -%}{{- return(none) -}}{%- endif -%}
    {%- do adapter.operations.check_flags({'take_again': take_again, 'dry_run': dry_run}) -%}
    {%- set done = adapter.versions.restore(context, lakemerge_relation(table), version, timestamp, tag, partitions, take_again, dry_run) -%}
    {%- set counts = done.inserted ~ ' inserted, ' ~ done.updated ~ ' updated, ' ~ done.deleted ~ ' deleted, in ' ~ done.partitions ~ ' partitions' -%}
    {%- if dry_run -%}
        {%- do log(table ~ ': version ' ~ done.to_version ~ ' would be restored: ' ~ counts ~ ' (this is a dry run: set dry_run to false to restore it)', info=true) -%}
    {%- elif done.version is none -%}
        {%- do log(table ~ ': it is as it was at version ' ~ done.to_version, info=true) -%}
    {%- else -%}
        {%- do log(table ~ ': version ' ~ done.to_version ~ ' is restored by version ' ~ done.version ~ ': ' ~ counts, info=true) -%}
    {%- endif -%}
    {{- return(done) -}}
{%- endmacro -%}
