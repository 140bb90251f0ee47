{#
    Write the small files of tables anew, as few large ones, or order the rows in them. No row changes.

        dbt run-operation lakemerge_compact --args '{select: product_master, dry_run: true}'
        dbt run-operation lakemerge_compact --args '{select: [events, "raw_*"], max_bytes: 50gb}'
        dbt run-operation lakemerge_compact --args '{select: events, partitions: "day >= ''2026-11-01''", zorder_by: [customer_id, product_id]}'

    Args:
        select: names of models, snapshots and seeds, `*` standing for any text, or `schema.table` of other tables.
        partitions: SQL over the partition columns that chooses partitions.
        max_bytes: that are written again at most, of each table; a number, or a size such as `10gb`.
        sort_by: columns to sort by, within each partition.
        zorder_by: two to seven columns to order by, all alike.
        dry_run: only say what each table needs.
#}
{%- macro lakemerge_compact(select='*', partitions=none, max_bytes=none, sort_by=none, zorder_by=none, dry_run=false) -%}
    {%- if not execute -%}{{- return(none) -}}{%- endif -%}
    {%- set results = {} -%}
    {%- for chosen in lakemerge_selected_tables(select) -%}
        {%- set name = chosen.relation.schema ~ '.' ~ chosen.relation.identifier -%}
        {%- set done = adapter.compact_table(context, chosen.relation, chosen.node, partitions, max_bytes, sort_by, zorder_by, dry_run) -%}
        {%- do results.update({name: done}) -%}
        {%- if not done or not (done.groups) -%}
            {%- do log(name ~ ': there is nothing to compact', info=true) -%}
        {%- elif dry_run -%}
            {%- do log(name ~ ': would write ' ~ done.bytes ~ ' bytes of ' ~ done.partitions ~ ' partitions again: ' ~ done.files ~ ' files would become about ' ~ done.files_after, info=true) -%}
        {%- else -%}
            {%- do log(name ~ ': ' ~ done.files_before ~ ' files (' ~ done.bytes_before ~ ' bytes) became ' ~ done.files_after ~ ' (' ~ done.bytes_after ~ ' bytes), ' ~ done.rows ~ ' rows' ~ ('; ' ~ done.left ~ ' partitions were left alone, because others changed them first' if done.left else ''), info=true) -%}
        {%- endif -%}
    {%- endfor -%}
    {{- return(results) -}}
{%- endmacro -%}
