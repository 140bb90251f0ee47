-- run 1

create or replace temporary view lakemerge_feed as

select * from values
    (1, 'one', 10.5BD, date '2026-01-01', 1, 'u'),
    (2, 'two', null, date '2026-01-01', 1, 'u'),
    (3, 'three', 3.0BD, date '2026-01-02', 1, 'u')
    as feed (id, name, amount, day, ts, op)
;

select /*+ rebalance(`day`) */
    *
from (
    select
        `id`,
        `name`,
        `amount`,
        `ts`,
        `op`,
        `day`
    from lakemerge_typed_feed
)
;

-- version 1: replace, {"rows": 3}
-- columns: id int, name string, amount decimal(3,1), ts int, op string, day date
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

select * from lakemerge_typed_feed
;

select count(*) as row_count, collect_set(to_json(array(cast(`day` as string)))) as partitions from (select
    cast(`id` as int) as `id`,
    cast(`name` as string) as `name`,
    cast(`amount` as decimal(3,1)) as `amount`,
    cast(`ts` as int) as `ts`,
    cast(`op` as string) as `op`,
    cast(`day` as date) as `day`
from (
    select
        *,
        true as _lakemerge_may_go
    from `shop`.`delete_insert` as DBT_INTERNAL_DEST
    where true
) as stored
left semi join lakemerge_kept_feed as DBT_INTERNAL_SOURCE
    on
        stored._lakemerge_may_go
        and stored.`id` = DBT_INTERNAL_SOURCE.`id`)
;

select /*+ rebalance(`day`) */
    *
from (
    select * from (select
        cast(`id` as int) as `id`,
        cast(`name` as string) as `name`,
        cast(`amount` as decimal(3,1)) as `amount`,
        cast(`ts` as int) as `ts`,
        cast(`op` as string) as `op`,
        cast(`day` as date) as `day`
    from (
        select
            *,
            true as _lakemerge_may_go
        from `shop`.`delete_insert` as DBT_INTERNAL_DEST
        where true
    ) as stored
    left anti join lakemerge_kept_feed as DBT_INTERNAL_SOURCE
        on
            stored._lakemerge_may_go
            and stored.`id` = DBT_INTERNAL_SOURCE.`id`) where (`day` in (cast('2026-01-01' as date), cast('2026-01-03' as date)))
    union all
    select
        `id`,
        `name`,
        `amount`,
        `ts`,
        `op`,
        `day`
    from lakemerge_kept_feed
)
;

-- version 2: delete+insert, {"deleted": 2, "inserted": 3}
-- columns: id int, name string, amount decimal(3,1), ts int, op string, day date
-- partitions: day=2026-01-01, day=2026-01-02, day=2026-01-03
-- side data: none
