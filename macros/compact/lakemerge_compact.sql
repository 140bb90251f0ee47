{#
    Write the small files of tables anew, as few large ones, or order the rows in them. No row changes.

        dbt run-operation lakemerge_compact --args '{select: product_master, dry_run: true}'
        dbt run-operation lakemerge_compact --args '{select: [events, "raw_*"], max_bytes: 50gb}'
        dbt run-operation lakemerge_compact --args '{select: events, partitions: "day >= ''2026-11-01''", zorder_by: [customer_id, product_id]}'

    Args:
        select: as of `lakemerge_selected_tables`. A table that fails does not stop the others.
        partitions: SQL over the partition columns that chooses partitions.
        max_bytes: that are written again at most, of each table; a number, or a size such as `10gb`.
        sort_by: columns to sort by, within each partition.
        zorder_by: two to seven columns to order by, all alike.
        dry_run: only say what each table needs.
#}
{%- macro lakemerge_compact(select='*', partitions=none, max_bytes=none, sort_by=none, zorder_by=none, dry_run=false) -%}
    {%- if not execute -%}{{- return(none) -}}{%- endif -%}
    {%- set results = {} -%}
    {%- set failed = [] -%}
    {%- set tables = lakemerge_selected_tables(select) -%}
    {%- for chosen in tables -%}
        {%- set name = lakemerge_shown_name(chosen.relation) -%}
        {%- set outcome = adapter.attempt(adapter.compact_table, context, chosen.relation, chosen.node, partitions, max_bytes, sort_by, zorder_by, dry_run) -%}
        {%- set done = outcome.result -%}
        {%- do results.update({name: done}) -%}
        {%- if outcome.error -%}
            {%- do failed.append(name ~ ': ' ~ outcome.error) -%}
        {%- elif not done or not (done.groups) -%}
            {%- do log(name ~ ': there is nothing to compact', info=true) -%}
        {%- elif dry_run -%}
            {%- do log(name ~ ': would write ' ~ done.bytes ~ ' bytes of ' ~ done.partitions ~ ' partitions again: ' ~ done.files ~ ' files would become about ' ~ done.files_after, info=true) -%}
        {%- else -%}
            {%- do log(name ~ ': ' ~ done.files_before ~ ' files (' ~ done.bytes_before ~ ' bytes) became ' ~ done.files_after ~ ' (' ~ done.bytes_after ~ ' bytes), ' ~ done.rows ~ ' rows' ~ ('; ' ~ done.left ~ ' partitions were left alone, because others changed them first' if done.left else ''), info=true) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do lakemerge_raise_failed('compact', failed, tables | length) -%}
    {{- return(results) -}}
{%- endmacro -%}
