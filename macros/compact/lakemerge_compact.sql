{#
    Rewrite the small files of tables into a few large ones, or sort their rows; move the deltas of tables that are
    merged on read into the base. No row changes.

        dbt run-operation lakemerge_compact --args '{select: product_master, dry_run: true}'
        dbt run-operation lakemerge_compact --args '{select: [events, "raw_*", "shop.*"], max_bytes: 50gb}'
        dbt run-operation lakemerge_compact --args '{select: events, partitions: "day >= ''2026-11-01''", zorder_by: [customer_id, product_id]}'

    Args:
        select: as in `lakemerge_selected_tables`. A table that fails does not stop the others.
        partitions: SQL over the partition columns that chooses partitions.
        max_bytes: the most bytes of each table to write again; a number, or a size such as `10gb`.
        sort_by: columns to sort by, within each partition.
        zorder_by: two to seven columns to order by, all with the same weight.
        deltas: `major`, the default, moves them into the base, as far as `partitions` and `max_bytes` allow; `minor`
            merges them into one; `none` leaves them.
        dry_run: only say what each table needs.
#}
{%- macro lakemerge_compact(select='*', partitions=none, max_bytes=none, sort_by=none, zorder_by=none, deltas=none, dry_run=false) -%}
    {%- if not execute -%}{{- return(none) -}}{%- endif -%}
    {%- do adapter.operations.check_flags({'dry_run': dry_run}) -%}
    {%- set results = {} -%}
    {%- set failed = [] -%}
    {%- set tables = lakemerge_selected_tables(select) -%}
    {%- for chosen in tables -%}
        {%- set name = lakemerge_shown_name(chosen.relation) -%}
        {%- set outcome = adapter.operations.attempt(adapter.compaction.compact, context, chosen.relation, chosen.node, partitions, max_bytes, sort_by, zorder_by, deltas, dry_run) -%}
        {%- do results.update({name: outcome.result}) -%}
        {%- if outcome.error -%}
            {%- do failed.append(name ~ ': ' ~ outcome.error) -%}
        {%- else -%}
            {%- do lakemerge_log_compaction(name, outcome.result, dry_run) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do lakemerge_raise_failed('compact', failed, tables | length) -%}
    {{- return(results) -}}
{%- endmacro -%}
