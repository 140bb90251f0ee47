{#
    The last closed version of each key that comes back: its end and its `dbt_scd_id`. Reads only the key and these
    two columns of the closed rows.
#}
{%- macro lakemerge_ended_rows_sql(txn, snapshot, strategy, broadcast) -%}
select
    {{ lakemerge_snapshot_keys_sql(snapshot) }},
    max(struct({{ snapshot.names.dbt_valid_to }} as __valid_to, {{ snapshot.names.dbt_scd_id }} as __scd_id)) as __ended
from (
    select {{ '/*+ broadcast(inserted) */' if broadcast }}
        closed.*
    from (
        select
            *,
            {{ unique_key_fields(strategy.unique_key) }}
        from (
            {{ lakemerge_kept_rows_sql(txn, none) | indent(12) }}
        )
        where not {{ snapshot.is_current }}
    ) as closed
    left semi join (
        select {{ lakemerge_snapshot_keys_sql(snapshot) }}
        from lakemerge_changes
        where _lakemerge_action = 'insert'
    ) as inserted
        on {{ lakemerge_snapshot_keys_equal_sql(snapshot, 'closed', 'inserted') }}
)
group by {{ lakemerge_snapshot_keys_sql(snapshot) }}
{%- endmacro -%}
