{# Refuse a source, or a table, that has no one answer: null keys, and keys with several rows. Nothing is written then. #}
{%- macro lakemerge_check_snapshot(snapshot, counts) -%}
    {%- if counts['null_keys'] -%}
        {%- do adapter.raise_typed(
            'NullKey',
            'a value in every part of the unique_key (' ~ snapshot.unique_key ~ ')',
            counts['null_keys'] ~ ' rows of the source without one',
            'Filter them out in the query, or mend the source. ' ~ lakemerge_sample_keys(snapshot, 'null key')
        ) -%}
    {%- elif counts['duplicates'] -%}
        {%- do adapter.raise_typed(
            'DuplicateKey',
            'one row for each key (' ~ snapshot.unique_key ~ ') in the source of a snapshot',
            counts['duplicates'] ~ ' rows that share theirs with others',
            'Let the query select one row for each key. If the rows are changes or versions of it, keep their history '
            ~ 'by an incremental merge with stored_as_scd_type: 2. ' ~ lakemerge_sample_keys(snapshot, 'duplicate')
        ) -%}
    {%- elif counts['several_current'] -%}
        {%- do adapter.raise_typed(
            'DuplicateKey',
            'one current row for each key (' ~ snapshot.unique_key ~ ') in ' ~ snapshot.table,
            counts['several_current'] ~ ' rows of keys that have several',
            'The table had them before it came here: close or remove all but one of each key. '
            ~ lakemerge_sample_keys(snapshot, 'several current')
        ) -%}
    {%- endif -%}
{%- endmacro -%}
