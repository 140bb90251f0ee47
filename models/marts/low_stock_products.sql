with

products as (

    select * from {{ ref('product_master') }}

),

reorder_levels as (

    select * from {{ ref('category_reorder_levels') }}

),

with_levels as (

    select
        products.product_id,
        products.category,
        products.brand,
        products.inventory,
        coalesce(
            reorder_levels.reorder_level,
            {{ var('default_reorder_level') }}
        ) as reorder_level
    from products
    left join reorder_levels
        on products.category = reorder_levels.category

),

-- A product whose stock is unknown is not low: somebody has to count it first.
low_stock as (

    select
        product_id,
        category,
        brand,
        inventory,
        reorder_level,
        reorder_level - inventory as missing_count
    from with_levels
    where inventory < reorder_level

)

select * from low_stock
