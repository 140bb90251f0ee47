select order_id, cast(ordered_at as timestamp) as ordered_at, amount from {{ ref('raw_orders') }}
