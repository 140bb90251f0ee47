-- run 1

create or replace temporary view lakemerge_feed as

select * from (select * from shop.fed where (case when typeof(day) = 'date' then day >= date'2026-01-01' and day < date'2026-01-02' when typeof(day) = 'timestamp_ntz' then day >= timestamp_ntz'2026-01-01 00:00:00.000000' and day < timestamp_ntz'2026-01-02 00:00:00.000000' when typeof(day) like 'string%' then cast(day as timestamp_ntz) >= timestamp_ntz'2026-01-01 00:00:00.000000' and cast(day as timestamp_ntz) < timestamp_ntz'2026-01-02 00:00:00.000000' else day >= timestamp_ltz'2026-01-01 00:00:00.000000+00:00' and day < timestamp_ltz'2026-01-02 00:00:00.000000+00:00' end))
;

select * from lakemerge_typed_feed
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
    from lakemerge_kept_feed
)
;

create or replace temporary view lakemerge_feed as

select * from (select * from shop.fed where (case when typeof(day) = 'date' then day >= date'2026-01-02' and day < date'2026-01-03' when typeof(day) = 'timestamp_ntz' then day >= timestamp_ntz'2026-01-02 00:00:00.000000' and day < timestamp_ntz'2026-01-03 00:00:00.000000' when typeof(day) like 'string%' then cast(day as timestamp_ntz) >= timestamp_ntz'2026-01-02 00:00:00.000000' and cast(day as timestamp_ntz) < timestamp_ntz'2026-01-03 00:00:00.000000' else day >= timestamp_ltz'2026-01-02 00:00:00.000000+00:00' and day < timestamp_ltz'2026-01-03 00:00:00.000000+00:00' end))
;

select * from lakemerge_typed_feed
;

select count(*) as row_count, collect_set('[]') as partitions from (select * from `shop`.`microbatch` where (case when typeof(`day`) = 'date' then `day` >= date'2026-01-02' and `day` < date'2026-01-03' when typeof(`day`) = 'timestamp_ntz' then `day` >= timestamp_ntz'2026-01-02 00:00:00.000000' and `day` < timestamp_ntz'2026-01-03 00:00:00.000000' when typeof(`day`) like 'string%' then cast(`day` as timestamp_ntz) >= timestamp_ntz'2026-01-02 00:00:00.000000' and cast(`day` as timestamp_ntz) < timestamp_ntz'2026-01-03 00:00:00.000000' else `day` >= timestamp_ltz'2026-01-02 00:00:00.000000+00:00' and `day` < timestamp_ltz'2026-01-03 00:00:00.000000+00:00' end))
;

select /*+ rebalance */
    *
from (
    select * from (select
        cast(`id` as int) as `id`,
        cast(`name` as string) as `name`,
        cast(`amount` as decimal(3,1)) as `amount`,
        cast(`day` as date) as `day`,
        cast(`ts` as int) as `ts`,
        cast(`op` as string) as `op`
    from `shop`.`microbatch`
    where true and not coalesce((case when typeof(`day`) = 'date' then `day` >= date'2026-01-02' and `day` < date'2026-01-03' when typeof(`day`) = 'timestamp_ntz' then `day` >= timestamp_ntz'2026-01-02 00:00:00.000000' and `day` < timestamp_ntz'2026-01-03 00:00:00.000000' when typeof(`day`) like 'string%' then cast(`day` as timestamp_ntz) >= timestamp_ntz'2026-01-02 00:00:00.000000' and cast(`day` as timestamp_ntz) < timestamp_ntz'2026-01-03 00:00:00.000000' else `day` >= timestamp_ltz'2026-01-02 00:00:00.000000+00:00' and `day` < timestamp_ltz'2026-01-03 00:00:00.000000+00:00' end), false)) where true
    union all
    select
        `id`,
        `name`,
        `amount`,
        `day`,
        `ts`,
        `op`
    from lakemerge_kept_feed
)
;

create or replace temporary view lakemerge_feed as

select * from (select * from shop.fed where (case when typeof(day) = 'date' then day >= date'2026-01-03' and day < date'2026-01-04' when typeof(day) = 'timestamp_ntz' then day >= timestamp_ntz'2026-01-03 00:00:00.000000' and day < timestamp_ntz'2026-01-04 00:00:00.000000' when typeof(day) like 'string%' then cast(day as timestamp_ntz) >= timestamp_ntz'2026-01-03 00:00:00.000000' and cast(day as timestamp_ntz) < timestamp_ntz'2026-01-04 00:00:00.000000' else day >= timestamp_ltz'2026-01-03 00:00:00.000000+00:00' and day < timestamp_ltz'2026-01-04 00:00:00.000000+00:00' end))
;

select * from lakemerge_typed_feed
;

select count(*) as row_count, collect_set('[]') as partitions from (select * from `shop`.`microbatch` where (case when typeof(`day`) = 'date' then `day` >= date'2026-01-03' and `day` < date'2026-01-04' when typeof(`day`) = 'timestamp_ntz' then `day` >= timestamp_ntz'2026-01-03 00:00:00.000000' and `day` < timestamp_ntz'2026-01-04 00:00:00.000000' when typeof(`day`) like 'string%' then cast(`day` as timestamp_ntz) >= timestamp_ntz'2026-01-03 00:00:00.000000' and cast(`day` as timestamp_ntz) < timestamp_ntz'2026-01-04 00:00:00.000000' else `day` >= timestamp_ltz'2026-01-03 00:00:00.000000+00:00' and `day` < timestamp_ltz'2026-01-04 00:00:00.000000+00:00' end))
;

-- version 2: microbatch, {"deleted": 0, "inserted": 1}
-- columns: id int, name string, amount decimal(3,1), day date, ts int, op string
-- partitions: the table
-- side data: none

-- run 2

show databases
;

create or replace temporary view lakemerge_feed as

select * from (select * from shop.fed where (case when typeof(day) = 'date' then day >= date'2026-01-01' and day < date'2026-01-02' when typeof(day) = 'timestamp_ntz' then day >= timestamp_ntz'2026-01-01 00:00:00.000000' and day < timestamp_ntz'2026-01-02 00:00:00.000000' when typeof(day) like 'string%' then cast(day as timestamp_ntz) >= timestamp_ntz'2026-01-01 00:00:00.000000' and cast(day as timestamp_ntz) < timestamp_ntz'2026-01-02 00:00:00.000000' else day >= timestamp_ltz'2026-01-01 00:00:00.000000+00:00' and day < timestamp_ltz'2026-01-02 00:00:00.000000+00:00' end))
;

select * from lakemerge_typed_feed
;

select count(*) as row_count, collect_set('[]') as partitions from (select * from `shop`.`microbatch` where (case when typeof(`day`) = 'date' then `day` >= date'2026-01-01' and `day` < date'2026-01-02' when typeof(`day`) = 'timestamp_ntz' then `day` >= timestamp_ntz'2026-01-01 00:00:00.000000' and `day` < timestamp_ntz'2026-01-02 00:00:00.000000' when typeof(`day`) like 'string%' then cast(`day` as timestamp_ntz) >= timestamp_ntz'2026-01-01 00:00:00.000000' and cast(`day` as timestamp_ntz) < timestamp_ntz'2026-01-02 00:00:00.000000' else `day` >= timestamp_ltz'2026-01-01 00:00:00.000000+00:00' and `day` < timestamp_ltz'2026-01-02 00:00:00.000000+00:00' end))
;

select /*+ rebalance */
    *
from (
    select * from (select
        cast(`id` as int) as `id`,
        cast(`name` as string) as `name`,
        cast(`amount` as decimal(3,1)) as `amount`,
        cast(`day` as date) as `day`,
        cast(`ts` as int) as `ts`,
        cast(`op` as string) as `op`
    from `shop`.`microbatch`
    where true and not coalesce((case when typeof(`day`) = 'date' then `day` >= date'2026-01-01' and `day` < date'2026-01-02' when typeof(`day`) = 'timestamp_ntz' then `day` >= timestamp_ntz'2026-01-01 00:00:00.000000' and `day` < timestamp_ntz'2026-01-02 00:00:00.000000' when typeof(`day`) like 'string%' then cast(`day` as timestamp_ntz) >= timestamp_ntz'2026-01-01 00:00:00.000000' and cast(`day` as timestamp_ntz) < timestamp_ntz'2026-01-02 00:00:00.000000' else `day` >= timestamp_ltz'2026-01-01 00:00:00.000000+00:00' and `day` < timestamp_ltz'2026-01-02 00:00:00.000000+00:00' end), false)) where true
    union all
    select
        `id`,
        `name`,
        `amount`,
        `day`,
        `ts`,
        `op`
    from lakemerge_kept_feed
)
;

create or replace temporary view lakemerge_feed as

select * from (select * from shop.fed where (case when typeof(day) = 'date' then day >= date'2026-01-02' and day < date'2026-01-03' when typeof(day) = 'timestamp_ntz' then day >= timestamp_ntz'2026-01-02 00:00:00.000000' and day < timestamp_ntz'2026-01-03 00:00:00.000000' when typeof(day) like 'string%' then cast(day as timestamp_ntz) >= timestamp_ntz'2026-01-02 00:00:00.000000' and cast(day as timestamp_ntz) < timestamp_ntz'2026-01-03 00:00:00.000000' else day >= timestamp_ltz'2026-01-02 00:00:00.000000+00:00' and day < timestamp_ltz'2026-01-03 00:00:00.000000+00:00' end))
;

select * from lakemerge_typed_feed
;

select count(*) as row_count, collect_set('[]') as partitions from (select * from `shop`.`microbatch` where (case when typeof(`day`) = 'date' then `day` >= date'2026-01-02' and `day` < date'2026-01-03' when typeof(`day`) = 'timestamp_ntz' then `day` >= timestamp_ntz'2026-01-02 00:00:00.000000' and `day` < timestamp_ntz'2026-01-03 00:00:00.000000' when typeof(`day`) like 'string%' then cast(`day` as timestamp_ntz) >= timestamp_ntz'2026-01-02 00:00:00.000000' and cast(`day` as timestamp_ntz) < timestamp_ntz'2026-01-03 00:00:00.000000' else `day` >= timestamp_ltz'2026-01-02 00:00:00.000000+00:00' and `day` < timestamp_ltz'2026-01-03 00:00:00.000000+00:00' end))
;

select /*+ rebalance */
    *
from (
    select * from (select
        cast(`id` as int) as `id`,
        cast(`name` as string) as `name`,
        cast(`amount` as decimal(3,1)) as `amount`,
        cast(`day` as date) as `day`,
        cast(`ts` as int) as `ts`,
        cast(`op` as string) as `op`
    from `shop`.`microbatch`
    where true and not coalesce((case when typeof(`day`) = 'date' then `day` >= date'2026-01-02' and `day` < date'2026-01-03' when typeof(`day`) = 'timestamp_ntz' then `day` >= timestamp_ntz'2026-01-02 00:00:00.000000' and `day` < timestamp_ntz'2026-01-03 00:00:00.000000' when typeof(`day`) like 'string%' then cast(`day` as timestamp_ntz) >= timestamp_ntz'2026-01-02 00:00:00.000000' and cast(`day` as timestamp_ntz) < timestamp_ntz'2026-01-03 00:00:00.000000' else `day` >= timestamp_ltz'2026-01-02 00:00:00.000000+00:00' and `day` < timestamp_ltz'2026-01-03 00:00:00.000000+00:00' end), false)) where true
    union all
    select
        `id`,
        `name`,
        `amount`,
        `day`,
        `ts`,
        `op`
    from lakemerge_kept_feed
)
;

create or replace temporary view lakemerge_feed as

select * from (select * from shop.fed where (case when typeof(day) = 'date' then day >= date'2026-01-03' and day < date'2026-01-04' when typeof(day) = 'timestamp_ntz' then day >= timestamp_ntz'2026-01-03 00:00:00.000000' and day < timestamp_ntz'2026-01-04 00:00:00.000000' when typeof(day) like 'string%' then cast(day as timestamp_ntz) >= timestamp_ntz'2026-01-03 00:00:00.000000' and cast(day as timestamp_ntz) < timestamp_ntz'2026-01-04 00:00:00.000000' else day >= timestamp_ltz'2026-01-03 00:00:00.000000+00:00' and day < timestamp_ltz'2026-01-04 00:00:00.000000+00:00' end))
;

select * from lakemerge_typed_feed
;

select count(*) as row_count, collect_set('[]') as partitions from (select * from `shop`.`microbatch` where (case when typeof(`day`) = 'date' then `day` >= date'2026-01-03' and `day` < date'2026-01-04' when typeof(`day`) = 'timestamp_ntz' then `day` >= timestamp_ntz'2026-01-03 00:00:00.000000' and `day` < timestamp_ntz'2026-01-04 00:00:00.000000' when typeof(`day`) like 'string%' then cast(`day` as timestamp_ntz) >= timestamp_ntz'2026-01-03 00:00:00.000000' and cast(`day` as timestamp_ntz) < timestamp_ntz'2026-01-04 00:00:00.000000' else `day` >= timestamp_ltz'2026-01-03 00:00:00.000000+00:00' and `day` < timestamp_ltz'2026-01-04 00:00:00.000000+00:00' end))
;

select /*+ rebalance */
    *
from (
    select * from (select
        cast(`id` as int) as `id`,
        cast(`name` as string) as `name`,
        cast(`amount` as decimal(3,1)) as `amount`,
        cast(`day` as date) as `day`,
        cast(`ts` as int) as `ts`,
        cast(`op` as string) as `op`
    from `shop`.`microbatch`
    where true and not coalesce((case when typeof(`day`) = 'date' then `day` >= date'2026-01-03' and `day` < date'2026-01-04' when typeof(`day`) = 'timestamp_ntz' then `day` >= timestamp_ntz'2026-01-03 00:00:00.000000' and `day` < timestamp_ntz'2026-01-04 00:00:00.000000' when typeof(`day`) like 'string%' then cast(`day` as timestamp_ntz) >= timestamp_ntz'2026-01-03 00:00:00.000000' and cast(`day` as timestamp_ntz) < timestamp_ntz'2026-01-04 00:00:00.000000' else `day` >= timestamp_ltz'2026-01-03 00:00:00.000000+00:00' and `day` < timestamp_ltz'2026-01-04 00:00:00.000000+00:00' end), false)) where true
    union all
    select
        `id`,
        `name`,
        `amount`,
        `day`,
        `ts`,
        `op`
    from lakemerge_kept_feed
)
;

-- version 5: microbatch, {"deleted": 0, "inserted": 1}
-- columns: id int, name string, amount decimal(3,1), day date, ts int, op string
-- partitions: the table
-- side data: none
