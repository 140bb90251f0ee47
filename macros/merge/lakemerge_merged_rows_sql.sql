{#
    The new content of the touched partitions: the stored rows that no change replaces, and the changed ones. Keys of
    inserts are replaced too, so that a row that another program wrote after the match is not doubled.

    Args:
        filter: SQL over the partition columns for the touched partitions; none where no stored row is kept.
        truncating: whether the feed holds a truncate, so that stored rows are ended by their sequence.
        rebalance: whether to shuffle the rows of each partition together, for few files; otherwise each task writes what
            it has read, and the changes make `change_files` small files more in each partition.
#}
{%- macro lakemerge_merged_rows_sql(merge, filter, broadcast, has_ledger, truncating, rebalance, change_files) -%}
select {{ lakemerge_rebalance_hint(merge) if rebalance }}
    *
from (
    {%- if merge.exists and filter %}
    select {{ '/*+ broadcast(DBT_INTERNAL_SOURCE) */' if broadcast }}
        {%- for column in merge.columns %}
        DBT_INTERNAL_DEST.{{ column.quoted }}{{ ',' if not loop.last }}
        {%- endfor %}
    from (
        {{ (lakemerge_dated_rows_sql(merge, filter, has_ledger) if truncating else lakemerge_stored_rows_sql(merge, filter)) | indent(8) }}
    ) as DBT_INTERNAL_DEST
    {{ lakemerge_replaced_rows_sql(merge) }}
    {%- if truncating %}
    where DBT_INTERNAL_DEST.__stored_sequence > ({{ lakemerge_horizon_sql(merge, has_ledger) }})
    {%- endif %}
    union all
    {%- endif %}
    {{ lakemerge_changed_rows_sql(merge, rebalance, change_files) | indent(4) }}
)
{%- endmacro -%}
