{#
    The resulting history of the keys in question. Consecutive changes that agree in the tracked columns are one
    version, with the values of the last; the version ends where anything else happens to the key. A truncate comes
    after the changes at its place in the order, and makes them void.

    Columns: __key_1…, __start, __end, __row (of the version that the table will hold), __is_version (false for a
    delete, and for a version that a truncate leaves no room), __stored (the stored versions that these changes began),
    __forgotten (the changes that only the ledger can remember from now on), __contradicts (a change says something else
    than one known with its sequence), __known_changes (how many changes of the feed were known), __is_same (the table
    holds this version as it is).
#}
{%- macro lakemerge_scd2_versions_sql(scd2, matched, remembered, truncates) -%}
{%- set keys = lakemerge_keys_sql(scd2.merge) -%}
with numbered as (
    {{ lakemerge_scd2_numbered_events_sql(scd2, matched, remembered, truncates) | indent(4) }}
),

versions as (
    select
        {{ keys }},
        min(__sequence) as __start,
        max_by(__until, __sequence) as __end,
        max_by(__row, struct(not __is_known, __sequence)) as __row,
        bool_and(not __is_delete) and not __is_settled as __is_change,
        collect_list(__began) as __stored,
        collect_list(
            if(__source = 1 or __is_settled or __is_known or (__is_old and __begins and __source = 2), null, struct(__sequence, if(__is_delete, 'delete', 'change') as __kind, __row))
        ) as __changes,
        count_if(not __is_known) > 1 or bool_and(__is_delete and __is_first and not __is_void) as __is_forgotten,
        bool_or(__source < 4 and not __is_corrected and if(__is_old, __told.__gist <> __gist, __told.__hash <> __hash)) as __contradicts,
        count_if(__is_settled or __is_known or (__source < 4 and __told is not null)) as __known_changes
    from numbered
    group by {{ keys }}, __is_settled, __version
),

bounded as (
    select
        *,
        __is_change and coalesce(__start < __end, true) as __is_version,
        get(__stored, 0) as __old
    from versions
)

select
    {{ keys }},
    __start,
    __end,
    __row,
    __is_version,
    __stored,
    if(__is_forgotten, __changes, filter(__changes, event -> false)) as __forgotten,
    __contradicts,
    __known_changes,
    (
        __is_version
        and size(__stored) = 1
        and __old.__start = __start
        and __old.__end <=> __end
        and {{ lakemerge_rows_equal_sql(scd2.merge, '__old.__row', '__row') }}
    ) as __is_same
from bounded
{%- endmacro -%}
