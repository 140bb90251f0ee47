with

expected as (

    select
        product_id,
        price,
        changed_on,
        category
    from values
        (1, 1, 10, 2, 'shoes'),
        (1, 2, 20, 1, 'hats'),
        (1, 3, 30, 1, 'hats'),
        (1, 4, 40, 1, 'bags'),
        (2, 1, 10, 2, 'shoes'),
        (2, 2, 21, 2, 'hats'),
        (2, 3, 31, 2, 'shoes'),
        (2, 5, 50, 2, 'belts')
        as listed (after_day, product_id, price, changed_on, category)
    where after_day = {{ var('day') }}

),

actual as (

    select
        product_id,
        price,
        changed_on,
        category
    from {{ ref('products') }}

),

validation_errors as (

    (select * from expected except all select * from actual)
    union all
    (select * from actual except all select * from expected)

)

select * from validation_errors
