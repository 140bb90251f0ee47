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

-- version 2: replace, {"rows": 3}
-- columns: id int, name string, amount decimal(3,1), ts int, op string, day date
-- partitions: day=2026-01-01, day=2026-01-03
-- side data: none
