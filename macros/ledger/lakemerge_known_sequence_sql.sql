{#
    The highest known sequence of a key, from its stored row and from the ledger; null for none. If a stored row may
    show a sequence that none of its changes had, the ledger's sequence counts.
#}
{%- macro lakemerge_known_sequence_sql(merge, has_ledger) -%}
    {%- set sources = [] -%}
    {%- if has_ledger -%}{%- do sources.append('remembered.__ledger_sequence') -%}{%- endif -%}
    {%- if merge.exists and merge.stored_sequence -%}{%- do sources.append('matched._lakemerge_stored_sequence') -%}{%- endif -%}
    {%- if sources | length == 2 -%}
        {{ 'coalesce' if merge.mixes_sequences else 'greatest' }}({{ sources | join(', ') }})
    {%- else -%}
        {{ sources[0] if sources else 'null' }}
    {%- endif -%}
{%- endmacro -%}
