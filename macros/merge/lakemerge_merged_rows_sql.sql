{#
    The new content of the touched partitions: the stored rows that no change replaces, and the changed ones. Keys of
    inserts are replaced too, so that a row that another program wrote after the match is not doubled.

    Args:
        filter: SQL over the partition columns for the touched partitions; none where no stored row is kept.
        truncating: whether the feed holds a truncate, so that stored rows are ended by their sequence.
        join: how the changes meet the stored rows; see `lakemerge_join_hint`.
        gather: how the rows of a partition come into few files; see `lakemerge_gather_hint`. Where they do not, the
            changes make `change_files` small files more in each partition.
#}
{%- macro lakemerge_merged_rows_sql(merge, filter, join, has_ledger, truncating, gather, change_files) -%}
select {{ lakemerge_gather_hint(merge, gather) }}
    *
from (
    {%- if merge.exists and filter %}
    select {{ lakemerge_join_hint(join, ['DBT_INTERNAL_SOURCE']) }}
        {%- for column in merge.columns %}
        DBT_INTERNAL_DEST.{{ column.quoted }}{{ ',' if not loop.last }}
        {%- endfor %}
    from (
        {{ (lakemerge_dated_rows_sql(merge, filter, has_ledger, join) if truncating else lakemerge_stored_rows_sql(merge, filter, join)) | indent(8) }}
    ) as DBT_INTERNAL_DEST
    {{ lakemerge_replaced_rows_sql(merge, join) }}
    {%- if truncating %}
    where DBT_INTERNAL_DEST.__stored_sequence > ({{ lakemerge_horizon_sql(merge, has_ledger, join) }})
    {%- endif %}
    union all
    {%- endif %}
    {{ lakemerge_changed_rows_sql(merge, gather, change_files) | indent(4) }}
)
{%- endmacro -%}
