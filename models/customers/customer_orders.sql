{{
    config(
        materialized='incremental',
        append_layout='commit_partitioned',
    )
}}

select
    -- ids
    cast(order_id as int) as order_id,
    cast(customer_id as int) as customer_id,

    -- what was ordered, and when
    cast(amount as decimal(10, 2)) as amount,
    cast(ordered_at as timestamp) as ordered_at
from {{ consume(source('customers', 'customer_orders'), on_rewrite='append_only') }}
