{#
    The stored rows of some partitions that no change replaces; see `lakemerge_merged_rows_sql`.

    Args:
        filter: SQL over the partition columns for the partitions.
#}
{%- macro lakemerge_unreplaced_rows_sql(merge, filter, join, has_ledger, truncating) -%}
select {{ lakemerge_join_hint(join, ['DBT_INTERNAL_SOURCE']) }}
    {%- for column in merge.columns %}
    DBT_INTERNAL_DEST.{{ column.quoted }}{{ ',' if not loop.last }}
    {%- endfor %}
from (
    {{ (lakemerge_dated_rows_sql(merge, filter, has_ledger, join) if truncating else lakemerge_stored_rows_sql(merge, filter, join)) | indent(4) }}
) as DBT_INTERNAL_DEST
{{ lakemerge_replaced_rows_sql(merge, join) }}
{%- if truncating %}
where DBT_INTERNAL_DEST._lakemerge_stored_sequence > ({{ lakemerge_horizon_sql(merge, has_ledger, join) }})
{%- endif %}
{%- endmacro -%}
