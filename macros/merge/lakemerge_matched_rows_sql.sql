{#
    The CTEs `stored` and `matched`: the stored rows that have a key of the feed, and one row for each such key.

    Incremental predicates are part of the match, as in dbt: a stored row that fails them is not matched.
#}
{%- macro lakemerge_matched_rows_sql(merge, filter, join) -%}
stored as (
    select {{ lakemerge_join_hint(join, ['DBT_INTERNAL_SOURCE']) }}
        {%- for key in merge.keys %}
        DBT_INTERNAL_DEST.{{ key.quoted }} as __key_{{ loop.index }},
        {%- endfor %}
        {%- if merge.needs_stored_row %}
        struct(
            {%- for column in merge.columns -%}
            DBT_INTERNAL_DEST.{{ column.quoted }}{{ ', ' if not loop.last }}
            {%- endfor -%}
        ) as __stored_row,
        {%- endif %}
        DBT_INTERNAL_DEST._lakemerge_stored_sequence,
        {{ lakemerge_partition_sql(merge.partitions, 'DBT_INTERNAL_DEST') }} as __partition
    from (
        {{ lakemerge_stored_rows_sql(merge, filter, join) | indent(8) }}
    ) as DBT_INTERNAL_DEST
    left semi join (
        select {{ lakemerge_source_keys_sql(merge) }}{{ ', __row.*' if merge.predicates }} from latest
    ) as DBT_INTERNAL_SOURCE
        on {{ lakemerge_match_condition_sql(merge) }}
),

matched as (
    select
        {{ lakemerge_keys_sql(merge) }},
        max(_lakemerge_stored_sequence) as _lakemerge_stored_sequence,
        collect_set(__partition) as __partitions,
        {%- if merge.needs_stored_row %}
        max_by(__stored_row, struct(_lakemerge_stored_sequence)) as __stored_row,
        {%- endif %}
        count(*) as __stored_rows
    from stored
    group by {{ lakemerge_keys_sql(merge) }}
)
{%- endmacro -%}
