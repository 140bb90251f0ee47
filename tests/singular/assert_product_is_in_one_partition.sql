-- A product that changes its category must leave the old partition.
with

validation_errors as (

    select
        product_id,
        count(*) as row_count,
        count(distinct coalesce(category, 'null')) as partition_count
    from {{ ref('product_master') }}
    group by product_id
    having count(*) > 1

)

select * from validation_errors
