{# Refuse changes that say something else than one which is known with their key and sequence. #}
{%- macro lakemerge_refuse_contradictions(scd2) -%}
    {%- set sql = 'select ' ~ lakemerge_keys_sql(scd2.merge) ~ ' from lakemerge_versions where __contradicts limit 5' -%}
    {%- do adapter.raise_typed(
        'AmbiguousChange',
        'a change with the key and the sequence of a known one to have its values',
        'others, for the keys ' ~ lakemerge_key_list(adapter.rows_of(sql)),
        'Add a column to sequence_by that tells them apart, or set on_sequence_tie: any to keep what is known.'
    ) -%}
{%- endmacro -%}
