-- Two models consume one feed: what the one holds is what the other says is valid now.
with

master as (

    select
        customer_id,
        name,
        street,
        city,
        segment
    from {{ ref('customer_master') }}

),

current_versions as (

    {{ scd2_current(ref('customer_history'), partition='dbt_closed_in') }}

),

history as (

    select
        customer_id,
        name,
        street,
        city,
        segment
    from current_versions

),

master_only as (

    select * from master
    except all
    select * from history

),

history_only as (

    select * from history
    except all
    select * from master

),

validation_errors as (

    select
        'in the master alone' as problem,
        customer_id
    from master_only
    union all
    select
        'current in the history alone' as problem,
        customer_id
    from history_only

)

select * from validation_errors
