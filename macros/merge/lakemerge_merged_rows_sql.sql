{#
    The new content of the touched partitions: the stored rows that no change replaces, and the changed ones.

    Keys of inserts are replaced too: what another program wrote between matching and this is not doubled.

    Args:
        filter: SQL over the partition columns for the touched partitions; none where no stored row is kept.
#}
{%- macro lakemerge_merged_rows_sql(merge, filter, broadcast, has_ledger) -%}
select {{ lakemerge_rebalance_hint(merge) }}
    *
from (
    {%- if merge.exists and filter %}
    select {{ '/*+ broadcast(DBT_INTERNAL_SOURCE) */' if broadcast }}
        {%- for column in merge.columns %}
        DBT_INTERNAL_DEST.{{ column.quoted }}{{ ',' if not loop.last }}
        {%- endfor %}
    from (
        {{ lakemerge_stored_rows_sql(merge, filter) | indent(8) }}
    ) as DBT_INTERNAL_DEST
    {{ lakemerge_replaced_rows_sql(merge) }}
    {%- if merge.truncates != 'false' %}
    where DBT_INTERNAL_DEST.__stored_sequence > ({{ lakemerge_horizon_sql(merge, has_ledger) }})
        or ({{ lakemerge_horizon_sql(merge, has_ledger) }}) is null
    {%- endif %}
    union all
    {%- endif %}
    select
        {%- for column in merge.columns %}
        __new_row.{{ column.quoted }}{{ ',' if not loop.last }}
        {%- endfor %}
    from lakemerge_resolved
    where __action in ('insert', 'update')
)
{%- endmacro -%}
