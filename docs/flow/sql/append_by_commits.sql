-- run 1

create or replace temporary view lakemerge_feed as

select * from values
    (1, 'one', 10.5BD, date '2026-01-01', 1, 'u'),
    (2, 'two', null, date '2026-01-01', 1, 'u'),
    (3, 'three', 3.0BD, date '2026-01-02', 1, 'u')
    as feed (id, name, amount, day, ts, op)
;

select /*+ rebalance(`_commit`) */
    *
from (
    select
        `id`,
        `name`,
        `amount`,
        `day`,
        `ts`,
        `op`,
        cast(null as bigint) as `_commit`
    from lakemerge_typed_feed
)
;

-- version 1: replace, {"rows": 3}
-- columns: id int, name string, amount decimal(3,1), day date, ts int, op string, _commit bigint
-- partitions: _commit=1
-- side data: none

-- run 2

create or replace temporary view lakemerge_feed as

select * from values
    (1, 'uno', 11.0BD, date '2026-01-01', 2, 'u'),
    (2, null, null, date '2026-01-01', 2, 'd'),
    (4, 'four', 4.0BD, date '2026-01-03', 2, 'u')
    as feed (id, name, amount, day, ts, op)
;

select /*+ rebalance(`_commit`) */
    *
from (
    select
        `id`,
        `name`,
        `amount`,
        `day`,
        `ts`,
        `op`,
        cast(null as bigint) as `_commit`
    from lakemerge_typed_feed
)
;

-- version 2: append, {"inserted": 3}
-- columns: id int, name string, amount decimal(3,1), day date, ts int, op string, _commit bigint
-- partitions: _commit=1, _commit=2
-- side data: none
