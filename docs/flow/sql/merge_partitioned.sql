-- run 1

create or replace temporary view lakemerge_feed as

select * from values
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
            'amount', `amount`,
            'ts', `ts`,
            'day', `day`
        ) as __row,
        (ts) as __sequence,
        if((ts) is null, 1, 0) as __null_sequence,
        coalesce(op = 'd', false) as __is_delete,
        coalesce(false, false) as __is_truncate
    from lakemerge_typed_feed
),

hashed as (
    select
        *,
        xxhash64(
            __is_delete,
            if(__is_delete, null, xxhash64(__row.`name` is null, __row.`name`, __row.`amount` is null, __row.`amount`, __row.`ts` is null, __row.`ts`, __row.`day` is null, __row.`day`))
        ) as __hash
    from changes
),

grouped as (
    select
        __key_1,
        __is_truncate,
        max_by(struct(__sequence, __hash, __is_delete, __row), struct(__sequence, __hash)) as __highest,
        max(struct(__sequence, ~__hash as __opposite_hash)) as __lowest,
        count(*) as __changes,
        sum(__null_sequence) as __null_sequences
    from hashed
    group by __key_1, __is_truncate
)

select
    __key_1,
    __is_truncate,
    __highest.__row as __row,
    __highest.__sequence as __sequence,
    __highest.__is_delete as __is_delete,
    __changes,
    __null_sequences,
    __highest.__hash <> ~__lowest.__opposite_hash as __is_tie
from grouped
;

with latest as (
    select /*+ coalesce(1) */ * from lakemerge_latest where not __is_truncate
),

compared as (
    select
        latest.*,
        0 as __stored_rows,
        array() as __partitions,
        if(false, latest.__row, null) as __stored_row,
        null as __known_sequence,
        if(false, latest.__sequence, null) as __horizon
    from latest
),

applied as (
    select
        *,
        __row as __new_row
    from compared
)

select
    __key_1,
    __sequence,
    __is_delete,
    __row,
    __new_row,
    __partitions,
    case
        when __sequence <= __horizon then 'late'
        when __sequence < __known_sequence then 'late'
        when __sequence = __known_sequence then 'same'
        when __is_delete and __stored_rows = 0 then 'tombstone'
        when __is_delete then 'delete'
        when __stored_rows = 0 then 'insert'
        else 'update'
    end as __action
from applied
;

select /*+ coalesce(1) */
    *
from (
    select
        __new_row.`id`,
        __new_row.`name`,
        __new_row.`amount`,
        __new_row.`ts`,
        __new_row.`day`
    from lakemerge_resolved
    where __action in ('insert', 'update') and true
)
;

-- version 1: merge, {"deleted": 0, "ignored": 0, "inserted": 3, "late": 0, "tombstones": 0, "updated": 0}
-- columns: id int, name string, amount decimal(3,1), ts int, day date
-- partitions: day=2026-01-01, day=2026-01-02
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
        named_struct(
            'id', `id`,
            'name', `name`,
            'amount', `amount`,
            'ts', `ts`,
            'day', `day`
        ) as __row,
        (ts) as __sequence,
        if((ts) is null, 1, 0) as __null_sequence,
        coalesce(op = 'd', false) as __is_delete,
        coalesce(false, false) as __is_truncate
    from lakemerge_typed_feed
),

hashed as (
    select
        *,
        xxhash64(
            __is_delete,
            if(__is_delete, null, xxhash64(__row.`name` is null, __row.`name`, __row.`amount` is null, __row.`amount`, __row.`ts` is null, __row.`ts`, __row.`day` is null, __row.`day`))
        ) as __hash
    from changes
),

grouped as (
    select
        __key_1,
        __is_truncate,
        max_by(struct(__sequence, __hash, __is_delete, __row), struct(__sequence, __hash)) as __highest,
        max(struct(__sequence, ~__hash as __opposite_hash)) as __lowest,
        count(*) as __changes,
        sum(__null_sequence) as __null_sequences
    from hashed
    group by __key_1, __is_truncate
)

select
    __key_1,
    __is_truncate,
    __highest.__row as __row,
    __highest.__sequence as __sequence,
    __highest.__is_delete as __is_delete,
    __changes,
    __null_sequences,
    __highest.__hash <> ~__lowest.__opposite_hash as __is_tie
from grouped
;

select collect_set(__partition) as partitions
from (
    select /*+ shuffle_hash(DBT_INTERNAL_SOURCE) */
        to_json(array(cast(DBT_INTERNAL_DEST.`day` as string))) as __partition
    from (
        select /*+ coalesce(1) */
            *,
            (ts) as _lakemerge_stored_sequence
        from (
            select
                cast(`id` as int) as `id`,
                cast(`name` as string) as `name`,
                cast(`amount` as decimal(3,1)) as `amount`,
                cast(`ts` as int) as `ts`,
                cast(`day` as date) as `day`
            from `shop`.`merge_partitioned`
            where (`day` in (cast('2026-01-02' as date)))
        )
    ) as DBT_INTERNAL_DEST
    left semi join (
        select /*+ coalesce(1) */ __key_1 as _lakemerge_key_1 from lakemerge_latest
    ) as DBT_INTERNAL_SOURCE
        on DBT_INTERNAL_DEST.`id` = DBT_INTERNAL_SOURCE._lakemerge_key_1
)
;

select
    __key_1,
    __sequence,
    __is_delete,
    __row as __new_row,
    if(__is_delete, 'delete', 'update') as __action
from lakemerge_latest
;

select /*+ shuffle_hash(DBT_INTERNAL_SOURCE) */
    DBT_INTERNAL_DEST.*,
    DBT_INTERNAL_SOURCE.__is_delete as _lakemerge_deletes
from (
    select /*+ coalesce(1) */
        *,
        (ts) as _lakemerge_stored_sequence
    from (
        select
            cast(`id` as int) as `id`,
            cast(`name` as string) as `name`,
            cast(`amount` as decimal(3,1)) as `amount`,
            cast(`ts` as int) as `ts`,
            cast(`day` as date) as `day`
        from `shop`.`merge_partitioned`
        where (`day` in (cast('2026-01-01' as date), cast('2026-01-03' as date)))
    )
) as DBT_INTERNAL_DEST
left join (
    select /*+ coalesce(1) */ __key_1 as _lakemerge_key_1, __is_delete from lakemerge_resolved
) as DBT_INTERNAL_SOURCE
    on DBT_INTERNAL_DEST.`id` = DBT_INTERNAL_SOURCE._lakemerge_key_1
;

select /*+ coalesce(1) */
    *
from (
    select
        `id`,
        `name`,
        `amount`,
        `ts`,
        `day`
    from lakemerge_matched_1
    where _lakemerge_deletes is null
    union all
    select
        __new_row.`id`,
        __new_row.`name`,
        __new_row.`amount`,
        __new_row.`ts`,
        __new_row.`day`
    from lakemerge_resolved
    where __action in ('insert', 'update') and true
)
;

select
    __key_1,
    __sequence,
    if(__is_delete, 'delete', 'live') as __kind,
    array(current_timestamp(), current_timestamp())[cast(__is_delete as int)] as __recorded_at
from lakemerge_resolved
where __action in ('delete', 'tombstone')
;

-- version 2: merge, {"deleted": 1, "ignored": 0, "inserted": 1, "tombstones": 0, "updated": 1}
-- columns: id int, name string, amount decimal(3,1), ts int, day date
-- partitions: day=2026-01-01, day=2026-01-02, day=2026-01-03
-- side data: ledger
