-- run 1

create or replace temporary view lakemerge_feed as

    select *,
        md5(coalesce(cast(id as string ), '')
         || '|' || coalesce(cast(at as string ), '')
        ) as dbt_scd_id,
        at as dbt_updated_at,
        at as dbt_valid_from,

  coalesce(nullif(at, at), null)
  as dbt_valid_to
from (

select *, timestamp_seconds(ts) as at from values
    (1, 'one', 10.5BD, date '2026-01-01', 1, 'u'),
    (2, 'two', null, date '2026-01-01', 1, 'u'),
    (3, 'three', 3.0BD, date '2026-01-02', 1, 'u')
    as feed (id, name, amount, day, ts, op) where op <> 'd'

    ) sbq
;

select
    *,
    case
        when dbt_unique_key is null then 'null key'
        when _lakemerge_source_rows > 1 then 'duplicate'
        else 'insert'
    end as _lakemerge_action
from (select
    *,
    count(*) over (partition by dbt_unique_key) as _lakemerge_source_rows
from (
    select
        *,

        id as dbt_unique_key

    from lakemerge_typed_feed
))
;

select /*+ rebalance(`dbt_closed_in`) */
    `id`,
    `name`,
    `amount`,
    `day`,
    `ts`,
    `op`,
    `at`,
    `dbt_scd_id`,
    `dbt_updated_at`,
    `dbt_valid_from`,
    `dbt_valid_to`,
    0 as `dbt_closed_in`
from lakemerge_changes
;

-- version 1: snapshot, {"deleted": 0, "inserted": 3, "updated": 0}
-- columns: id int, name string, amount decimal(3,1), day date, ts int, op string, at timestamp, dbt_scd_id string, dbt_updated_at timestamp, dbt_valid_from timestamp, dbt_valid_to timestamp, dbt_closed_in bigint
-- partitions: dbt_closed_in=0
-- side data: none

-- run 2

create or replace temporary view lakemerge_feed as

    select *,
        md5(coalesce(cast(id as string ), '')
         || '|' || coalesce(cast(at as string ), '')
        ) as dbt_scd_id,
        at as dbt_updated_at,
        at as dbt_valid_from,

  coalesce(nullif(at, at), null)
  as dbt_valid_to
from (

select *, timestamp_seconds(ts) as at from values
    (1, 'uno', 11.0BD, date '2026-01-01', 2, 'u'),
    (2, null, null, date '2026-01-01', 2, 'd'),
    (4, 'four', 4.0BD, date '2026-01-03', 2, 'u')
    as feed (id, name, amount, day, ts, op) where op <> 'd'

    ) sbq
;

with source_data as (
    select
        *,
        count(*) over (partition by dbt_unique_key) as _lakemerge_source_rows
    from (
        select
            *,

            id as dbt_unique_key

        from lakemerge_typed_feed
    )
),

snapshotted_data as (
    select
        *,
        count(*) over (partition by dbt_unique_key) as _lakemerge_current_rows
    from (
        select
            *,

            id as dbt_unique_key

        from (
            select
                cast(`id` as int) as `id`,
                cast(`name` as string) as `name`,
                cast(`amount` as decimal(3,1)) as `amount`,
                cast(`day` as date) as `day`,
                cast(`ts` as int) as `ts`,
                cast(`op` as string) as `op`,
                cast(`at` as timestamp) as `at`,
                cast(`dbt_scd_id` as string) as `dbt_scd_id`,
                cast(`dbt_updated_at` as timestamp) as `dbt_updated_at`,
                cast(`dbt_valid_from` as timestamp) as `dbt_valid_from`,
                cast(`dbt_valid_to` as timestamp) as `dbt_valid_to`,
                cast(`dbt_closed_in` as bigint) as `dbt_closed_in`
            from `shop`.`snapshot_timestamp`
            where true and `dbt_closed_in` = 0
        )
        where (`dbt_valid_to` is null)
    )
),

matched as (
    select
        coalesce(source_data.dbt_unique_key, snapshotted_data.dbt_unique_key) as dbt_unique_key,
        cast(current_timestamp() as timestamp) as __run_time,
        if(source_data._lakemerge_source_rows is null, null, named_struct(
            'id', source_data.`id`,
            'name', source_data.`name`,
            'amount', source_data.`amount`,
            'day', source_data.`day`,
            'ts', source_data.`ts`,
            'op', source_data.`op`,
            'at', source_data.`at`,
            'dbt_scd_id', source_data.`dbt_scd_id`,
            'dbt_updated_at', source_data.`dbt_updated_at`,
            'dbt_valid_from', source_data.`dbt_valid_from`,
            'dbt_valid_to', source_data.`dbt_valid_to`,
            'dbt_closed_in', cast(null as bigint)
        )) as __source,
        if(snapshotted_data._lakemerge_current_rows is null, null, named_struct(
            'id', snapshotted_data.`id`,
            'name', snapshotted_data.`name`,
            'amount', snapshotted_data.`amount`,
            'day', snapshotted_data.`day`,
            'ts', snapshotted_data.`ts`,
            'op', snapshotted_data.`op`,
            'at', snapshotted_data.`at`,
            'dbt_scd_id', snapshotted_data.`dbt_scd_id`,
            'dbt_updated_at', snapshotted_data.`dbt_updated_at`,
            'dbt_valid_from', snapshotted_data.`dbt_valid_from`,
            'dbt_valid_to', snapshotted_data.`dbt_valid_to`,
            'dbt_closed_in', snapshotted_data.`dbt_closed_in`
        )) as __stored,
        case
            when source_data._lakemerge_source_rows is not null and (source_data.dbt_unique_key is null) then 'null key'
            when source_data._lakemerge_source_rows > 1 then 'duplicate'
            when snapshotted_data._lakemerge_current_rows > 1 then 'several current'
            when snapshotted_data._lakemerge_current_rows is null then 'insert'
            when source_data._lakemerge_source_rows is null then 'delete'
            when coalesce(
                    snapshotted_data.dbt_valid_from < source_data.at,
                    snapshotted_data.dbt_valid_from is null and source_data.at is not null
                ) then 'update'
        end as _lakemerge_action
    from source_data
    left outer join snapshotted_data
        on source_data.dbt_unique_key = snapshotted_data.dbt_unique_key
)

select *
from matched
where _lakemerge_action is not null
;

select
    *,
    case
        when _lakemerge_action = 'delete' or __is_displaced then greatest(__run_time, __not_before)
        else __source.`dbt_valid_from`
    end as __begins
from (
    select
        *,
        case
            when _lakemerge_action = 'update' then not coalesce(__source.`dbt_valid_from` > __not_before, __not_before is null and __source.`dbt_valid_from` is not null)
            when _lakemerge_action = 'insert' and __last_scd_id is not null then not coalesce(__source.`dbt_valid_from` >= __not_before and __source.`dbt_scd_id` <> __last_scd_id, false)
            else false
        end as __is_displaced
    from (
        select
            changes.*,
            changes.__stored.`dbt_valid_from` as __not_before,
            changes.__stored.`dbt_scd_id` as __last_scd_id
        from lakemerge_changes as changes
    )
)
;

select
    __stored.`id` as `id`,
    __stored.`name` as `name`,
    __stored.`amount` as `amount`,
    __stored.`day` as `day`,
    __stored.`ts` as `ts`,
    __stored.`op` as `op`,
    __stored.`at` as `at`,
    __stored.`dbt_scd_id` as `dbt_scd_id`,
    __stored.`dbt_updated_at` as `dbt_updated_at`,
    __stored.`dbt_valid_from` as `dbt_valid_from`,
    __begins as `dbt_valid_to`,
    cast(if(false, 0, 2) as bigint) as `dbt_closed_in`
from lakemerge_timed
where _lakemerge_action in ('update', 'delete')
union all
select
    __source.`id` as `id`,
    __source.`name` as `name`,
    __source.`amount` as `amount`,
    __source.`day` as `day`,
    __source.`ts` as `ts`,
    __source.`op` as `op`,
    __source.`at` as `at`,
    if(__is_displaced, md5(coalesce(cast(__last_scd_id as string ), '')
         || '|' || coalesce(cast(__run_time as string ), '')
        ), __source.`dbt_scd_id`) as `dbt_scd_id`,
    __source.`dbt_updated_at` as `dbt_updated_at`,
    __begins as `dbt_valid_from`,
    __source.`dbt_valid_to` as `dbt_valid_to`,
    cast(if(true, 0, 2) as bigint) as `dbt_closed_in`
from lakemerge_timed
where _lakemerge_action in ('insert', 'update')
;

select /*+ rebalance(`dbt_closed_in`) */
    *
from (
    select /*+ broadcast(changed) */
        stored.`id`,
        stored.`name`,
        stored.`amount`,
        stored.`day`,
        stored.`ts`,
        stored.`op`,
        stored.`at`,
        stored.`dbt_scd_id`,
        stored.`dbt_updated_at`,
        stored.`dbt_valid_from`,
        stored.`dbt_valid_to`,
        cast(if(stored.`dbt_closed_in` = 0 and stored._lakemerge_is_current, 0, 2) as bigint) as `dbt_closed_in`
    from (
        select
            *,
            coalesce((`dbt_valid_to` is null), false) as _lakemerge_is_current,

            id as dbt_unique_key

        from (
            select
                cast(`id` as int) as `id`,
                cast(`name` as string) as `name`,
                cast(`amount` as decimal(3,1)) as `amount`,
                cast(`day` as date) as `day`,
                cast(`ts` as int) as `ts`,
                cast(`op` as string) as `op`,
                cast(`at` as timestamp) as `at`,
                cast(`dbt_scd_id` as string) as `dbt_scd_id`,
                cast(`dbt_updated_at` as timestamp) as `dbt_updated_at`,
                cast(`dbt_valid_from` as timestamp) as `dbt_valid_from`,
                cast(`dbt_valid_to` as timestamp) as `dbt_valid_to`,
                cast(`dbt_closed_in` as bigint) as `dbt_closed_in`
            from `shop`.`snapshot_timestamp`
            where (`dbt_closed_in` in (cast('0' as bigint), cast('2' as bigint))) and true
        )
    ) as stored
    left anti join (
        select dbt_unique_key
        from lakemerge_changes
        where _lakemerge_action in ('update', 'delete')
    ) as changed
        on stored._lakemerge_is_current
            and stored.dbt_unique_key = changed.dbt_unique_key
    union all
    select * from lakemerge_versions
)
;

-- version 2: snapshot, {"deleted": 0, "inserted": 1, "updated": 1}
-- columns: id int, name string, amount decimal(3,1), day date, ts int, op string, at timestamp, dbt_scd_id string, dbt_updated_at timestamp, dbt_valid_from timestamp, dbt_valid_to timestamp, dbt_closed_in bigint
-- partitions: dbt_closed_in=0, dbt_closed_in=2
-- side data: none
