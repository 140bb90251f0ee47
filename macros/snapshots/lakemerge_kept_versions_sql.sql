{#
    The stored rows of the touched partitions that stay: all but the current ones of the changed keys. If another
    program closed a row in place, it still lies among the open ones; it moves to the closed ones.
#}
{%- macro lakemerge_kept_versions_sql(txn, snapshot, strategy, touched, broadcast) -%}
select {{ '/*+ broadcast(changed) */' if broadcast }}
    {%- for column in snapshot.columns %}
    {%- set kept = 'stored.' ~ column.quoted %}
    {{ snapshot.layout.value(kept ~ ' = 0 and stored._lakemerge_is_current') ~ ' as ' ~ column.quoted if snapshot.is_layout_column(column) else kept }}{{ ',' if not loop.last }}
    {%- endfor %}
from (
    select
        *,
        coalesce({{ snapshot.is_current }}, false) as _lakemerge_is_current,
        {{ unique_key_fields(strategy.unique_key) }}
    from (
        {{ lakemerge_kept_rows_sql(txn, touched) | indent(8) }}
    )
) as stored
left anti join (
    select {{ lakemerge_snapshot_keys_sql(snapshot) }}
    from lakemerge_changes
    where _lakemerge_action in ('update', 'delete')
) as changed
    on stored._lakemerge_is_current
        {{ '' }}and {{ lakemerge_snapshot_keys_equal_sql(snapshot, 'stored', 'changed') }}
{%- endmacro -%}
