{#
    The changes with __begins, the time at which each takes effect, and __is_displaced, whether that is the time of
    this run rather than the source's. A version begins when the source says, unless the history already has a later
    time for the key; then it begins when this run saw it. So the versions of a key never overlap, and none ends
    before it begins, whatever the order of a source's times.

    Args:
        with_ended: whether the view `lakemerge_ended` exists, with the last versions of keys that come back.
        broadcast: whether these are few enough to be sent to every task.
#}
{%- macro lakemerge_timed_changes_sql(snapshot, with_ended, broadcast) -%}
{%- set valid_from = snapshot.names.dbt_valid_from -%}
{%- set scd_id = snapshot.names.dbt_scd_id -%}
select
    *,
    case
        when _lakemerge_action = 'delete' or __is_displaced then greatest(__run_time, __not_before)
        else __source.{{ valid_from }}
    end as __begins
from (
    select
        *,
        case
            when _lakemerge_action = 'update' then not coalesce(__source.{{ valid_from }} > __not_before, __not_before is null and __source.{{ valid_from }} is not null)
            when _lakemerge_action = 'insert' and __last_scd_id is not null then not coalesce(__source.{{ valid_from }} >= __not_before and __source.{{ scd_id }} <> __last_scd_id, false)
            else false
        end as __is_displaced
    from (
        select {{ '/*+ broadcast(ended) */' if with_ended and broadcast }}
            changes.*,
            {{ 'if(changes.__stored is null, ended.__ended.__valid_to, changes.__stored.' ~ valid_from ~ ')' if with_ended else 'changes.__stored.' ~ valid_from }} as __not_before,
            {{ 'if(changes.__stored is null, ended.__ended.__scd_id, changes.__stored.' ~ scd_id ~ ')' if with_ended else 'changes.__stored.' ~ scd_id }} as __last_scd_id
        from lakemerge_changes as changes
        {%- if with_ended %}
        left outer join lakemerge_ended as ended
            on {{ lakemerge_snapshot_keys_equal_sql(snapshot, 'changes', 'ended') }}
        {%- endif %}
    )
)
{%- endmacro -%}
