{#
    The action for each key: the source joined with the current rows of the table, in one pass over each. Keys without
    an action are left out.

    Columns: the key's, __run_time (one for all), __source and __stored (rows of the table's columns; null if none), and _lakemerge_action:

    insert, update, delete       a key that has no current row, another state of one, and one that the source lacks
    null key, duplicate          what a source must not have
    several current              what the table must not have: several current rows of a key
#}
{%- macro lakemerge_snapshot_changes_sql(txn, snapshot, strategy) -%}
with source_data as (
    {{ lakemerge_source_rows_sql(snapshot, strategy) | indent(4) }}
),

snapshotted_data as (
    {{ lakemerge_current_rows_sql(txn, snapshot, strategy) | indent(4) }}
),

matched as (
    select
        {%- for key in snapshot.keys %}
        coalesce(source_data.{{ key }}, snapshotted_data.{{ key }}) as {{ key }},
        {%- endfor %}
        {{ snapshot.run_time }} as __run_time,
        if(source_data._lakemerge_source_rows is null, null, {{ lakemerge_version_row_sql(snapshot, 'source_data', true) | indent(8) }}) as __source,
        if(snapshotted_data._lakemerge_current_rows is null, null, {{ lakemerge_version_row_sql(snapshot, 'snapshotted_data', false) | indent(8) }}) as __stored,
        {{ lakemerge_snapshot_action_sql(snapshot, strategy) | indent(8) }} as _lakemerge_action
    from source_data
    {{ 'full outer' if snapshot.sees_deletes else 'left outer' }} join snapshotted_data
        on {{ lakemerge_snapshot_keys_equal_sql(snapshot, 'source_data', 'snapshotted_data') }}
)

select *
from matched
where _lakemerge_action is not null
{%- endmacro -%}
