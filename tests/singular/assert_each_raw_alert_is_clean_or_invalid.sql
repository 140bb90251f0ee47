with

raw_alerts as (

    select line from {{ ref('raw_alerts') }}

),

sorted_alerts as (

    select concat_ws(',', id, msg, continent, country) as line from {{ ref('alerts') }}
    union all
    select line from {{ ref('invalid_alerts') }}

),

lost as (

    select line from raw_alerts
    except all
    select line from sorted_alerts

),

added as (

    select line from sorted_alerts
    except all
    select line from raw_alerts

),

validation_errors as (

    select
        'lost' as problem,
        line
    from lost
    union all
    select
        'added' as problem,
        line
    from added

)

select * from validation_errors
