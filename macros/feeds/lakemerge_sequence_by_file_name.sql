{#
    The `sequence_by` of a feed whose file names end in a number that gives their order: `products_1427644188.csv`.
    Within a file, a later line wins. Needs the record columns `_file` and `_line`; a file name without a number raises
    NullSequence.

    Args:
        pattern: a regular expression whose group 1 is the number, searched in the whole path.
#}
{%- macro lakemerge_sequence_by_file_name(pattern='_([0-9]+)([.][^/]*)?$') -%}
    {{- return(["try_cast(nullif(regexp_extract(_file, " ~ adapter.string_literal(pattern) ~ ", 1), '') as bigint)", '_line']) -}}
{%- endmacro -%}
