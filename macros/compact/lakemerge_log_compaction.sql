{#
    Print what a compaction has done to a table, or would do.

    Args:
        name: the table's.
        done: `files` and `deltas`, as `adapter.compaction.compact` returns them; none where there was nothing to do.
        dry_run: whether nothing was done.
#}
{%- macro lakemerge_log_compaction(name, done, dry_run) -%}
    {%- if not done -%}
        {%- do log(name ~ ': there is nothing to compact', info=true) -%}
        {{- return(none) -}}
    {%- endif -%}
    {%- set deltas = done.deltas -%}
    {%- set files = done.files -%}
    {%- if deltas and dry_run -%}
        {%- do log(name ~ ': ' ~ deltas.deltas ~ ' deltas (' ~ deltas.bytes_before ~ ' bytes) ' ~ ('would be moved into the base' if deltas.action == 'major' else 'would become one'), info=true) -%}
    {%- elif deltas and deltas.left and not deltas.done -%}
        {%- do log(name ~ ': the deltas stay, because none of the ' ~ deltas.left ~ ' partitions that they change is within partitions and max_bytes', info=true) -%}
    {%- elif deltas -%}
        {%- do log(name ~ ': ' ~ ('the deltas were moved into the base' if deltas.action == 'major' else 'the deltas became one') ~ ': ' ~ deltas.files_before ~ ' files (' ~ deltas.bytes_before ~ ' bytes) became ' ~ deltas.files_after ~ ' (' ~ deltas.bytes_after ~ ' bytes)' ~ ('; a delta for ' ~ deltas.left ~ ' partitions stays' if deltas.left else ''), info=true) -%}
    {%- endif -%}
    {%- if files and dry_run -%}
        {%- do log(name ~ ': would write ' ~ files.bytes_before ~ ' bytes of ' ~ files.partitions ~ ' partitions again: ' ~ files.files_before ~ ' files would become about ' ~ files.files_after, info=true) -%}
    {%- elif files -%}
        {%- do log(name ~ ': ' ~ files.files_before ~ ' files (' ~ files.bytes_before ~ ' bytes) became ' ~ files.files_after ~ ' (' ~ files.bytes_after ~ ' bytes), ' ~ files.rows ~ ' rows' ~ ('; ' ~ files.left ~ ' partitions were left alone, because others changed them first' if files.left else ''), info=true) -%}
    {%- endif -%}
{%- endmacro -%}
