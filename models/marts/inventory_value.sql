with

products as (

    select * from {{ ref('product_master') }}

),

value_by_brand as (

    select
        coalesce(category, 'unknown') as category,
        coalesce(brand, 'unknown') as brand,
        count(*) as product_count,
        coalesce(sum(inventory), 0) as unit_count,
        cast(coalesce(sum(price * inventory), 0) as decimal(18, 2)) as inventory_value,
        count_if(price is null or inventory is null) as unvalued_product_count
    from products
    group by
        coalesce(category, 'unknown'),
        coalesce(brand, 'unknown')

)

select * from value_by_brand
