-- A product that changes its category must leave the old partition.
with

validation_errors as (

    select
        product_id,
        count(*) as rows_found
    from {{ ref('product_master') }}
    group by product_id
    having count(*) > 1

)

select * from validation_errors
