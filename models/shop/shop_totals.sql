{{ config(materialized='table', publish='after_tests') }}

select
    count(*) as products,
    sum(in_stock) as in_stock,
    sum(sold) as sold
from {{ ref('shop_report') }}
