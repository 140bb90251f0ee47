{#
    The `sequence_by` of a feed whose files say their order at the end of their names: `products_1427644188.csv`. Within a
    file, a later line wins. Needs the record columns `_file` and `_line`; a file without a number ends in NullSequence.

    Args:
        pattern: a regular expression whose group 1 is the number, searched in the whole path.
#}
{%- macro lakemerge_sequence_by_file_name(pattern='_([0-9]+)([.][^/]*)?$') -%}
    {{- return(["try_cast(nullif(regexp_extract(_file, " ~ adapter.string_literal(pattern) ~ ", 1), '') as bigint)", '_line']) -}}
{%- endmacro -%}
