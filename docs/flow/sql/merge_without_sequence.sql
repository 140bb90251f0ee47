-- run 1

create or replace temporary view lakemerge_feed as

select * from values
    (1, 'one', 10.5BD, date '2026-01-01', 1, 'u'),
    (2, 'two', null, date '2026-01-01', 1, 'u'),
    (3, 'three', 3.0BD, date '2026-01-02', 1, 'u')
    as feed (id, name, amount, day, ts, op)
;

select /*+ rebalance */
    *
from (
    select
        `id`,
        `name`,
        `amount`,
        `day`,
        `ts`,
        `op`
    from lakemerge_typed_feed
)
;

-- version 1: replace, {"rows": 3}
-- columns: id int, name string, amount decimal(3,1), day date, ts int, op string
-- partitions: the table
-- side data: none

-- run 2

create or replace temporary view lakemerge_feed as

select * from values
    (1, 'uno', 11.0BD, date '2026-01-01', 2, 'u'),
    (2, null, null, date '2026-01-01', 2, 'd'),
    (4, 'four', 4.0BD, date '2026-01-03', 2, 'u')
    as feed (id, name, amount, day, ts, op)
;

with changes as (
    select

        `id` as __key_1,
        `day` as __key_2,
        named_struct(
            'id', `id`,
            'name', `name`,
            'amount', `amount`,
            'day', `day`,
            'ts', `ts`,
            'op', `op`
        ) as __row,
        0 as __sequence,
        if(false, 1, 0) as __null_sequence,
        coalesce(false, false) as __is_delete,
        coalesce(false, false) as __is_truncate
    from lakemerge_typed_feed
),

hashed as (
    select
        *,
        xxhash64(
            __is_delete,
            if(__is_delete, null, xxhash64(__row.`name` is null, __row.`name`, __row.`amount` is null, __row.`amount`, __row.`ts` is null, __row.`ts`, __row.`op` is null, __row.`op`))
        ) as __hash
    from changes
),

gathered as (
    select /*+ repartition(__key_1, __key_2) */ *
    from hashed
),

placed as (
    select
        __key_1, __key_2,
        __is_truncate,
        __sequence,
        __sequence as __place,
        max_by(struct(__is_delete, __row), __hash) as __change,
        min(__hash) <> max(__hash) as __is_tie,
        count(*) as __changes,
        sum(__null_sequence) as __null_sequences
    from gathered
    group by __key_1, __key_2, __is_truncate, __sequence
),

listed as (
    select
        __key_1, __key_2,
        __is_truncate,
        array_sort(
            collect_list(struct(__sequence, __change.__is_delete, __change.__row)),
            (one, other) -> case
                when one.__sequence < other.__sequence then -1
                when one.__sequence > other.__sequence then 1
                else 0
            end
        ) as __steps,
        max(if(__change.__is_delete, __place, null)) as __deleted_at,
        max(if(__is_tie, __place, null)) as __tied_at,
        sum(__changes) as __changes,
        sum(__null_sequences) as __null_sequences
    from placed
    group by __key_1, __key_2, __is_truncate
)

select
    __key_1, __key_2,
    __is_truncate,
    __steps,
    element_at(__steps, -1).__row as __row,
    element_at(__steps, -1).__sequence as __sequence,
    element_at(__steps, -1).__is_delete as __is_delete,
    __changes,
    __null_sequences,
    coalesce(__tied_at >= __deleted_at, __tied_at is not null) as __is_tie
from listed
;

with latest as (
    select /*+ coalesce(1) */ * from lakemerge_latest where not __is_truncate
),

stored as (
    select /*+ shuffle_hash(DBT_INTERNAL_SOURCE) */
        DBT_INTERNAL_DEST.`id` as __key_1,
        DBT_INTERNAL_DEST.`day` as __key_2,
        struct(DBT_INTERNAL_DEST.`id`, DBT_INTERNAL_DEST.`name`, DBT_INTERNAL_DEST.`amount`, DBT_INTERNAL_DEST.`day`, DBT_INTERNAL_DEST.`ts`, DBT_INTERNAL_DEST.`op`) as __stored_row,
        DBT_INTERNAL_DEST._lakemerge_stored_sequence,
        '[]' as __partition
    from (
        select /*+ coalesce(1) */
            *,
            cast(null as int) as _lakemerge_stored_sequence
        from (
            select
                cast(`id` as int) as `id`,
                cast(`name` as string) as `name`,
                cast(`amount` as decimal(3,1)) as `amount`,
                cast(`day` as date) as `day`,
                cast(`ts` as int) as `ts`,
                cast(`op` as string) as `op`
            from `shop`.`merge_without_sequence`
            where true
        )
    ) as DBT_INTERNAL_DEST
    left semi join (
        select __key_1 as _lakemerge_key_1, __key_2 as _lakemerge_key_2 from latest
    ) as DBT_INTERNAL_SOURCE
        on DBT_INTERNAL_DEST.`id` = DBT_INTERNAL_SOURCE._lakemerge_key_1 and DBT_INTERNAL_DEST.`day` = DBT_INTERNAL_SOURCE._lakemerge_key_2
),

matched as (
    select
        __key_1, __key_2,
        max(_lakemerge_stored_sequence) as _lakemerge_stored_sequence,
        collect_set(__partition) as __partitions,
        max_by(__stored_row, struct(_lakemerge_stored_sequence)) as __stored_row,
        count(*) as __stored_rows
    from stored
    group by __key_1, __key_2
),

compared as (
    select /*+ shuffle_hash(matched) */
        latest.*,
        coalesce(matched.__stored_rows, 0) as __stored_rows,
        matched.__partitions as __partitions,
        matched.__stored_row as __stored_row,
        null as __known_sequence,
        if(false, latest.__sequence, null) as __horizon
    from latest
    left join matched
        on latest.__key_1 = matched.__key_1 and latest.__key_2 = matched.__key_2
),

applied as (
    select
        *,
        aggregate(
            __steps,
            __stored_row,
            (held, step) -> case
                when step.__is_delete then null
                when held is null then step.__row
                else named_struct(
                    'id', step.__row.`id`,
                    'name', step.__row.`name`,
                    'amount', held.`amount`,
                    'day', step.__row.`day`,
                    'ts', held.`ts`,
                    'op', held.`op`
                )
            end
        ) as __new_row
    from compared
)

select
    __key_1, __key_2,
    __sequence,
    __is_delete,
    __row,
    __new_row,
    __partitions,
    case
        when __is_delete and __stored_rows = 0 then 'same'
        when __is_delete then 'delete'
        when __stored_rows = 0 then 'insert'
        when __stored_rows = 1 and __stored_row <=> __new_row then 'same'
        else 'update'
    end as __action
from applied
;

select /*+ coalesce(1) */
    *
from (
    select /*+ shuffle_hash(DBT_INTERNAL_SOURCE) */
        DBT_INTERNAL_DEST.`id`,
        DBT_INTERNAL_DEST.`name`,
        DBT_INTERNAL_DEST.`amount`,
        DBT_INTERNAL_DEST.`day`,
        DBT_INTERNAL_DEST.`ts`,
        DBT_INTERNAL_DEST.`op`
    from (
        select /*+ coalesce(1) */
            *,
            cast(null as int) as _lakemerge_stored_sequence
        from (
            select
                cast(`id` as int) as `id`,
                cast(`name` as string) as `name`,
                cast(`amount` as decimal(3,1)) as `amount`,
                cast(`day` as date) as `day`,
                cast(`ts` as int) as `ts`,
                cast(`op` as string) as `op`
            from `shop`.`merge_without_sequence`
            where true
        )
    ) as DBT_INTERNAL_DEST
    left anti join (
            select /*+ coalesce(1) */
                __key_1 as _lakemerge_key_1, __key_2 as _lakemerge_key_2
            from lakemerge_resolved
            where __action in ('insert', 'update', 'delete')
        ) as DBT_INTERNAL_SOURCE
            on DBT_INTERNAL_DEST.`id` = DBT_INTERNAL_SOURCE._lakemerge_key_1 and DBT_INTERNAL_DEST.`day` = DBT_INTERNAL_SOURCE._lakemerge_key_2
    union all
    select
        __new_row.`id`,
        __new_row.`name`,
        __new_row.`amount`,
        __new_row.`day`,
        __new_row.`ts`,
        __new_row.`op`
    from lakemerge_resolved
    where __action in ('insert', 'update') and true
)
;

-- version 2: merge, {"deleted": 0, "ignored": 0, "inserted": 1, "late": 0, "tombstones": 0, "updated": 2}
-- columns: id int, name string, amount decimal(3,1), day date, ts int, op string
-- partitions: the table
-- side data: none
