{#
    The `apply_as_deletes` of a feed whose deletes come in files of their own, named by a prefix. Needs the record column
    `_file`.
#}
{%- macro lakemerge_deletes_by_file_prefix(prefix) -%}
    {{- return("startswith(substring_index(_file, '/', -1), " ~ adapter.string_literal(prefix) ~ ")") -}}
{%- endmacro -%}
