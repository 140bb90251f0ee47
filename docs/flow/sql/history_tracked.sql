-- run 1

create or replace temporary view lakemerge_feed as

select id, name, ts, op from values
    (1, 'one', 10.5BD, date '2026-01-01', 1, 'u'),
    (2, 'two', null, date '2026-01-01', 1, 'u'),
    (3, 'three', 3.0BD, date '2026-01-02', 1, 'u')
    as feed (id, name, amount, day, ts, op)
;

with changes as (
    select
        `id` as __key_1,
        named_struct(
            'id', `id`,
            'name', `name`,
            'ts', `ts`
        ) as __row,
        cast((ts) as int) as __sequence,
        if((ts) is null, 1, 0) as __null_sequence,
        coalesce(false, false) as __is_delete,
        coalesce(false, false) as __is_truncate
    from lakemerge_typed_feed
),

hashed as (
    select
        *,
        xxhash64(
            __is_delete,
            if(__is_delete, null, xxhash64(__row.`name` is null, __row.`name`, __row.`ts` is null, __row.`ts`))
        ) as __hash
    from changes
)

select
    __key_1,
    __is_truncate,
    __sequence,
    max_by(__row, __hash) as __row,
    max_by(__is_delete, __hash) as __is_delete,
    count(*) as __changes,
    sum(__null_sequence) as __null_sequences,
    min(__hash) <> max(__hash) as __is_tie
from hashed
group by __key_1, __is_truncate, __sequence
;

with numbered as (
    with placed as (
        with events as (
            select
                __key_1,
                __sequence,
                __is_delete,
                __row,
                4 as __source,
                false as __is_watermark,
                cast(null as struct<__start: int, __end: int, __row: struct<`id`: int, `name`: string, `ts`: int>, __known: bigint, __partition: string>) as __stored,
                cast(null as int) as __from
            from lakemerge_changes
            where not __is_truncate
        ),

        hashed as (
            select /*+ repartition(__key_1) */
                *,
                xxhash64(
                    __is_delete,
                    if(__is_delete, null, xxhash64(__row.`name` is null, __row.`name`, __row.`ts` is null, __row.`ts`))
                ) as __hash,
                xxhash64(
                    __is_delete,
                    if(__is_delete, null, xxhash64(__row.`name` is null, __row.`name`))
                ) as __gist
            from events
        ),

        dated as (
            select
                hashed.*,
                cast(array() as array<int>) as __truncates
            from hashed
        )

        select
            *,
            collect_list(if(__source = 5, struct(__from, __sequence as __to), null)) over (partition by __key_1) as __settled,
            row_number() over (partition by __key_1, __sequence order by __source) as __place,
            first_value(__stored, true) over (partition by __key_1, __sequence order by __source rows between unbounded preceding and unbounded following) as __began,
            max(if(__source = 4, struct(__hash, __gist), null)) over (partition by __key_1, __sequence) as __told,
            min(if(__source in (1, 5), null, __sequence)) over (partition by __key_1) as __first,
            max(if(__is_watermark, __sequence, null)) over (partition by __key_1) as __watermark,
            array_min(filter(__truncates, truncated -> truncated >= __sequence)) as __truncated
        from dated
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
            lag(struct(__is_delete, __truncated, struct(__row.`name` as `name`) as __tracked)) over by_time as __before,
            lead(__sequence) over by_time as __next
        from judged
        window by_time as (partition by __key_1, __is_settled order by __sequence)
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
            or not (struct(__row.`name` as `name`) <=> __before.__tracked) as __begins
        from followed
    )

    select
        *,
        sum(if(__begins, 1, 0)) over by_time as __version,
        __is_old
        and __source = 4
        and (max(if(__begins, struct(__sequence, __source), null)) over by_time).__source < 4 as __is_known
    from begun
    window by_time as (partition by __key_1, __is_settled order by __sequence)
),

versions as (
    select
        __key_1,
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
    group by __key_1, __is_settled, __version
),

bounded as (
    select
        *,
        __is_change and coalesce(__start < __end, true) as __is_version,
        get(__stored, 0) as __old
    from versions
)

select
    __key_1,
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
        and __old.__row <=> __row
    ) as __is_same
from bounded
;

select /*+ rebalance(`dbt_closed_in`) */
    *
from (
    select
        __row.`id` as `id`,
        __row.`name` as `name`,
        __row.`ts` as `ts`,
        __start as `__start_at`,
        __end as `__end_at`,
        cast(if(__end is null, 0, 1) as bigint) as `dbt_closed_in`
    from lakemerge_versions
    where __is_version and not __is_same
)
;

-- version 1: merge, {"deleted": 0, "ignored": 0, "inserted": 3, "updated": 0}
-- columns: id int, name string, ts int, __start_at int, __end_at int, dbt_closed_in bigint
-- partitions: dbt_closed_in=0
-- side data: none

-- run 2

create or replace temporary view lakemerge_feed as

select id, name, ts, op from values
    (1, 'uno', 11.0BD, date '2026-01-01', 2, 'u'),
    (2, null, null, date '2026-01-01', 2, 'd'),
    (4, 'four', 4.0BD, date '2026-01-03', 2, 'u')
    as feed (id, name, amount, day, ts, op)
;

with changes as (
    select
        `id` as __key_1,
        named_struct(
            'id', `id`,
            'name', `name`,
            'ts', `ts`
        ) as __row,
        cast((ts) as int) as __sequence,
        if((ts) is null, 1, 0) as __null_sequence,
        coalesce(false, false) as __is_delete,
        coalesce(false, false) as __is_truncate
    from lakemerge_typed_feed
),

hashed as (
    select
        *,
        xxhash64(
            __is_delete,
            if(__is_delete, null, xxhash64(__row.`name` is null, __row.`name`, __row.`ts` is null, __row.`ts`))
        ) as __hash
    from changes
)

select
    __key_1,
    __is_truncate,
    __sequence,
    max_by(__row, __hash) as __row,
    max_by(__is_delete, __hash) as __is_delete,
    count(*) as __changes,
    sum(__null_sequence) as __null_sequences,
    min(__hash) <> max(__hash) as __is_tie
from hashed
group by __key_1, __is_truncate, __sequence
;

with numbered as (
    with placed as (
        with events as (
            select
                __key_1,
                __sequence,
                __is_delete,
                __row,
                4 as __source,
                false as __is_watermark,
                cast(null as struct<__start: int, __end: int, __row: struct<`id`: int, `name`: string, `ts`: int>, __known: bigint, __partition: string>) as __stored,
                cast(null as int) as __from
            from lakemerge_changes
            where not __is_truncate
            union all
            select
                __key_1,
                event.*,
                cast(null as int) as __from
            from (
                select /*+ broadcast(touched) */ stored.*
                from (
                    select
                        cast(`id` as int) as __key_1,
                        cast(`__start_at` as int) as __start,
                        cast(`__end_at` as int) as __end,
                        named_struct(
                            'id', cast(`id` as int),
                            'name', cast(`name` as string),
                            'ts', cast(`ts` as int)
                        ) as __row,
                        cast(null as bigint) as __known,
                        to_json(array(cast(`dbt_closed_in` as string))) as __partition
                    from `shop`.`history_tracked`
                    where `dbt_closed_in` = 0
                ) as stored
                inner join (
                    select
                        __key_1,
                        min(__sequence) as __from
                    from lakemerge_changes
                    where not __is_truncate
                    group by __key_1
                ) as touched
                    on stored.__key_1 = touched.__key_1
                        and (stored.__end is null or stored.__end >= touched.__from)
            ) as stored
            lateral view inline(array(
                struct(
                    __start as __sequence,
                    false as __is_delete,
                    __row as __row,
                    2 as __source,
                    false as __is_watermark,
                    cast(struct(__start, __end, __row, __known, __partition) as struct<__start: int, __end: int, __row: struct<`id`: int, `name`: string, `ts`: int>, __known: bigint, __partition: string>) as __stored
                ),
                struct(
                    __end as __sequence,
                    true as __is_delete,
                    cast(null as struct<`id`: int, `name`: string, `ts`: int>) as __row,
                    3 as __source,
                    false as __is_watermark,
                    cast(null as struct<__start: int, __end: int, __row: struct<`id`: int, `name`: string, `ts`: int>, __known: bigint, __partition: string>) as __stored
                )
            )) event
            where event.__sequence is not null
        ),

        hashed as (
            select /*+ repartition(__key_1) */
                *,
                xxhash64(
                    __is_delete,
                    if(__is_delete, null, xxhash64(__row.`name` is null, __row.`name`, __row.`ts` is null, __row.`ts`))
                ) as __hash,
                xxhash64(
                    __is_delete,
                    if(__is_delete, null, xxhash64(__row.`name` is null, __row.`name`))
                ) as __gist
            from events
        ),

        dated as (
            select
                hashed.*,
                cast(array() as array<int>) as __truncates
            from hashed
        )

        select
            *,
            collect_list(if(__source = 5, struct(__from, __sequence as __to), null)) over (partition by __key_1) as __settled,
            row_number() over (partition by __key_1, __sequence order by __source) as __place,
            first_value(__stored, true) over (partition by __key_1, __sequence order by __source rows between unbounded preceding and unbounded following) as __began,
            max(if(__source = 4, struct(__hash, __gist), null)) over (partition by __key_1, __sequence) as __told,
            min(if(__source in (1, 5), null, __sequence)) over (partition by __key_1) as __first,
            max(if(__is_watermark, __sequence, null)) over (partition by __key_1) as __watermark,
            array_min(filter(__truncates, truncated -> truncated >= __sequence)) as __truncated
        from dated
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
            lag(struct(__is_delete, __truncated, struct(__row.`name` as `name`) as __tracked)) over by_time as __before,
            lead(__sequence) over by_time as __next
        from judged
        window by_time as (partition by __key_1, __is_settled order by __sequence)
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
            or not (struct(__row.`name` as `name`) <=> __before.__tracked) as __begins
        from followed
    )

    select
        *,
        sum(if(__begins, 1, 0)) over by_time as __version,
        __is_old
        and __source = 4
        and (max(if(__begins, struct(__sequence, __source), null)) over by_time).__source < 4 as __is_known
    from begun
    window by_time as (partition by __key_1, __is_settled order by __sequence)
),

versions as (
    select
        __key_1,
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
    group by __key_1, __is_settled, __version
),

bounded as (
    select
        *,
        __is_change and coalesce(__start < __end, true) as __is_version,
        get(__stored, 0) as __old
    from versions
)

select
    __key_1,
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
        and __old.__row <=> __row
    ) as __is_same
from bounded
;

select
    *
from (
    select /*+ broadcast(replaced) */
        cast(`id` as int) as `id`,
        cast(`name` as string) as `name`,
        cast(`ts` as int) as `ts`,
        cast(`__start_at` as int) as `__start_at`,
        cast(`__end_at` as int) as `__end_at`,
        cast(`dbt_closed_in` as bigint) as `dbt_closed_in`
    from (
        select
            *,
            cast(`id` as int) as _lakemerge_key_1,
            cast(`__start_at` as int) as _lakemerge_start
        from `shop`.`history_tracked`
        where (`dbt_closed_in` in (cast('0' as bigint), cast('2' as bigint)))
    ) as stored
    left anti join (
        select
            __key_1,
            old.__start
        from lakemerge_versions
        lateral view explode(__stored) exploded as old
        where not __is_same
    ) as replaced
        on stored._lakemerge_key_1 = replaced.__key_1 and stored._lakemerge_start = replaced.__start
    union all
    select /*+ coalesce(1) */
        __row.`id` as `id`,
        __row.`name` as `name`,
        __row.`ts` as `ts`,
        __start as `__start_at`,
        __end as `__end_at`,
        cast(if(__end is null, 0, 2) as bigint) as `dbt_closed_in`
    from lakemerge_versions
    where __is_version and not __is_same
)
;

-- version 2: merge, {"deleted": 0, "ignored": 0, "inserted": 3, "updated": 2}
-- columns: id int, name string, ts int, __start_at int, __end_at int, dbt_closed_in bigint
-- partitions: dbt_closed_in=0, dbt_closed_in=2
-- side data: none
