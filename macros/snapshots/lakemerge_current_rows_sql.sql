{#
    The current rows of the table in the types that it will have, with their keys, and _lakemerge_current_rows: the number of
    rows with that key.
#}
{%- macro lakemerge_current_rows_sql(txn, snapshot, strategy) -%}
select
    *,
    count(*) over (partition by {{ lakemerge_snapshot_keys_sql(snapshot) }}) as _lakemerge_current_rows
from (
    select
        *,
        {{ unique_key_fields(strategy.unique_key) }}
    from (
        {{ lakemerge_kept_rows_sql(txn, none, snapshot.layout.open_filter) | indent(8) }}
    )
    where {{ snapshot.is_current }}
)
{%- endmacro -%}
