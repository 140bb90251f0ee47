-- The master, computed anew from all that was delivered, without the merge.
with

latest as (

    select
        product_id,
        brand,
        price,
        inventory,
        ts,
        category,
        is_delete,
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
    from latest
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

validation_errors as (

    (
        select
            'missing in the master' as problem,
            *
        from (select * from expected except all select * from found) as missing
    )
    union all
    (
        select
            'not in the feed' as problem,
            *
        from (select * from found except all select * from expected) as surplus
    )

)

select * from validation_errors
