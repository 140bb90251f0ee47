-- depends_on: {{ ref('shop_changes') }}
{{ config(materialized='table', publish='after_tests') }}

with

sold as (

    select
        product,
        count(*) as orders,
        sum(pieces) as pieces
    from {{ ref('shop_orders') }}
    group by product

)

select
    stock.product,
    stock.pieces as in_stock,
    coalesce(sold.pieces, 0) as sold,
    coalesce(sold.orders, 0) as orders
from {{ ref('shop_stock') }} as stock
left join sold on stock.product = sold.product
