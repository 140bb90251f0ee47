{#
    The `sequence_by` of a feed whose order is the order of ingest: batch, file (by time, then path), line. Needs the
    record columns `_batch`, `_file_modified`, `_file` and `_line`.
#}
{%- macro lakemerge_sequence_by_ingest() -%}
    {{- return(['_batch', 'unix_millis(_file_modified)', '_file', '_line']) -}}
{%- endmacro -%}
