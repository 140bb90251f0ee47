{#
    The events that count, in order of time, each with the number of its version: `__version`.

    Columns besides those of the placed events: __is_settled (whether it is a change of the feed that a statement has
    settled; such ones are only to be counted, and are numbered apart), __is_corrected (whether it is an event of a
    version that a statement has corrected, so that the feed may say something else), __is_old (whether it lies where
    changes may have been forgotten), __before (what the previous event says), __next (the next event's sequence),
    __is_first (whether it begins the key's history, or begins it again), __is_void (whether a truncate of the same
    sequence cancels it), __until (where its version ends), __begins (whether it begins its version), __is_known (whether
    it adds nothing to a known version: a change of the feed in a range where the version's own changes may have been
    forgotten, so that it may be one of them).
#}
{%- macro lakemerge_scd2_numbered_events_sql(scd2, matched, remembered, truncates) -%}
{%- set keys = lakemerge_keys_sql(scd2.merge) -%}
with placed as (
    {{ lakemerge_scd2_placed_events_sql(scd2, matched, remembered, truncates) | indent(4) }}
),

judged as (
    select
        *,
        __source = 4 and exists(__settled, one -> coalesce(one.__from <= __sequence, true) and __sequence <= one.__to) as __is_settled,
        exists(__settled, one -> one.__from = __sequence or (__source = 1 and __began is null and one.__from <= __sequence and __sequence <= one.__to)) as __is_corrected
    from placed
    where __place = 1 and __source < 5 and __sequence >= __first
),

linked as (
    select
        *,
        coalesce(__sequence <= __watermark, false) as __is_old,
        lag(struct(__is_delete, __truncated, {{ lakemerge_scd2_tracked_sql(scd2) }} as __tracked)) over by_time as __before,
        lead(__sequence) over by_time as __next
    from judged
    window by_time as (partition by {{ keys }}, __is_settled order by __sequence)
),

followed as (
    select
        *,
        __before is null or __before.__is_delete or coalesce(__before.__truncated < __sequence, false) as __is_first,
        coalesce(__truncated = __sequence, false) as __is_void,
        least(__next, __truncated) as __until
    from linked
),

begun as (
    select
        *,
        __is_delete
        or __is_first
        or __is_void
        or not ({{ lakemerge_scd2_tracked_sql(scd2) }} <=> __before.__tracked) as __begins
    from followed
)

select
    *,
    sum(if(__begins, 1, 0)) over by_time as __version,
    __is_old
    and __source = 4
    and (max(if(__begins, struct(__sequence, __source), null)) over by_time).__source < 4 as __is_known
from begun
window by_time as (partition by {{ keys }}, __is_settled order by __sequence)
{%- endmacro -%}
