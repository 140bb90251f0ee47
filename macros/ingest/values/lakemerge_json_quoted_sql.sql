{#
    A JSON text with its numbers as strings, so that a parser keeps them as written.

    Args:
        group: the records that are read alike: a RecordGroup.
        text: SQL of the text.
        mark: the prefix of these strings.
#}
{%- macro lakemerge_json_quoted_sql(group, text, mark='') -%}
    regexp_replace({{ text }}, {{ adapter.string_literal(group.number_pattern) }}, '$1"{{ mark }}$2"')
{%- endmacro -%}
