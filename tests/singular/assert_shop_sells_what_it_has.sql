with

validation_errors as (

    select
        product,
        in_stock
    from {{ ref('shop_report') }}
    where in_stock < 0

)

select * from validation_errors
