{#
    Refuse changes that have the sequence of what is stored and other values: which of the two is right, nobody can
    tell. The columns that a partial update leaves alone say nothing. Costs a scan of the partitions in question, and
    only when a feed is delivered again.
#}
{%- macro lakemerge_check_repeats(txn, merge, counts) -%}
    {%- set columns = merge.columns | rejectattr('mode', 'equalto', 'keep') | list -%}
    {%- set sql -%}
        select {{ lakemerge_keys_sql(merge, 'resolved') }}
        from lakemerge_resolved as resolved
        inner join (
            {{ lakemerge_stored_rows_sql(merge, txn.partition_filter(txn.names_of(counts['same_partitions']))) | indent(12) }}
        ) as stored
            on {% for key in merge.keys %}stored.{{ key.quoted }} = resolved.__key_{{ loop.index }}{{ ' and ' if not loop.last }}{% endfor %}
        where resolved.__action = 'same'
            and resolved.__sequence = stored.__stored_sequence
            and (
                resolved.__is_delete
                or not {{ lakemerge_compared_row_sql(columns, 'resolved.__row', 'stored') }} <=> {{ lakemerge_compared_row_sql(columns, 'stored') }}
            )
        limit 5
    {%- endset -%}
    {%- set differing = adapter.rows_of(sql) -%}
    {%- if differing -%}
        {%- do adapter.raise_typed(
            'AmbiguousChange',
            'a change with the sequence of the stored row to have its values',
            'others, for the keys ' ~ lakemerge_key_list(differing),
            'Add a column to sequence_by that tells them apart, or set on_sequence_tie: any to keep the stored rows.'
        ) -%}
    {%- endif -%}
{%- endmacro -%}
