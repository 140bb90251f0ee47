{#
    Refuse a feed that has no one answer, before anything is written: null keys, null sequences, and different rows
    at one place in the order. Counted in `counts`, which came with the changes; then sampled from the view `changes`.
#}
{%- macro lakemerge_check_changes(merge, config, counts, changes='lakemerge_latest') -%}
    {%- set keys = merge.keys | map(attribute='name') | join(', ') -%}
    {%- if counts['null_keys'] -%}
        {%- do adapter.raise_typed(
            'NullKey',
            'a value in every column of the unique_key (' ~ keys ~ ')',
            counts['null_keys'] ~ ' rows of the feed without one',
            'Filter them out in the model, or mend the feed. ' ~ lakemerge_sample_changes(merge, '__is_null_key', changes)
        ) -%}
    {%- endif -%}
    {%- if counts['null_sequences'] -%}
        {%- do adapter.raise_typed(
            'NullSequence',
            'a value of sequence_by (' ~ merge.sequence ~ ') in every row',
            counts['null_sequences'] ~ ' rows of the feed without one',
            'Give them one (coalesce), or filter them out. ' ~ lakemerge_sample_changes(merge, '__null_sequences > 0', changes)
        ) -%}
    {%- endif -%}
    {%- if counts['ties'] and (not merge.sequence or config.on_sequence_tie == 'error') -%}
        {%- if merge.sequence -%}
            {%- set mend = "Add a column to sequence_by that tells them apart, or set on_sequence_tie: any. " -%}
        {%- else -%}
            {%- set mend = 'Set sequence_by, or let the model select one row for each key. ' -%}
        {%- endif -%}
        {%- set each_counts = merge.sequence and (merge.partial or changes != 'lakemerge_latest') -%}
        {%- do adapter.raise_typed(
            'AmbiguousChange',
            ('one change for each sequence and key (' if each_counts else 'one latest change for each key (') ~ keys ~ ')',
            counts['ties'] ~ ' keys with several different ones',
            mend ~ lakemerge_sample_changes(merge, '__is_tie', changes)
        ) -%}
    {%- endif -%}
{%- endmacro -%}
