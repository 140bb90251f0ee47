-- A table that is made anew by each run: a change that comes late also alters what a customer was
-- when an order of long ago was made.
{{
    config(
        materialized='table',
    )
}}

select
    orders.order_id,
    orders.customer_id,
    customers.segment,
    customers.city,
    orders.amount,
    orders.ordered_at
from {{ ref('customer_orders') }} as orders
{{
    scd2_join(
        ref('customer_history'), 'customer_id', 'orders.ordered_at',
        facts='orders', versions='customers'
    )
}}
