{#
    The `sequence_by` of a feed whose only order is that of its files and lines: the time at which the file was last
    changed, then the line. Needs the record columns `_file_modified` and `_line`; where two files may have the same
    time, `lakemerge_sequence_by_ingest` distinguishes them.
#}
{%- macro lakemerge_sequence_by_position() -%}
    {{- return(['unix_millis(_file_modified)', '_line']) -}}
{%- endmacro -%}
