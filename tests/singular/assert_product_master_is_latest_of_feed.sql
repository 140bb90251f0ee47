-- The master, computed anew from all that was delivered, without the merge.
with

numbered as (

    select
        *,
        row_number() over (
            partition by product_id
            order by ts desc
        ) as newest_first
    from {{ ref('stg_products__changes') }}
    {% if var('feed_date') %}
    where feed_date <= date '{{ var("feed_date") }}'
    {% endif %}

),

expected as (

    select
        product_id,
        brand,
        price,
        inventory,
        ts,
        category
    from numbered
    where
        newest_first = 1
        and not is_delete

),

found as (

    select
        product_id,
        brand,
        price,
        inventory,
        ts,
        category
    from {{ ref('product_master') }}

),

missing as (

    select * from expected
    except all
    select * from found

),

surplus as (

    select * from found
    except all
    select * from expected

),

validation_errors as (

    select
        'not in the master' as problem,
        product_id
    from missing
    union all
    select
        'not in the feed' as problem,
        product_id
    from surplus

)

select * from validation_errors
