{{ config(materialized='table') }}

-- Day 2: a new price, a product that moves to another partition, a new one, a delete, and a late
-- change that a newer one was merged before.
select
    product_id,
    price,
    changed_on,
    operation,
    category,
    received_on
from values
    (1, 10, 2, 'upsert', 'shoes', 1),
    (2, 20, 1, 'upsert', 'hats', 1),
    (3, 30, 1, 'upsert', 'hats', 1),
    (4, 40, 1, 'upsert', 'bags', 1),
    (1, 9, 1, 'upsert', 'shoes', 2),
    (2, 21, 2, 'upsert', 'hats', 2),
    (3, 31, 2, 'upsert', 'shoes', 2),
    (4, null, 2, 'delete', 'bags', 2),
    (5, 50, 2, 'upsert', 'belts', 2)
    as feed (product_id, price, changed_on, operation, category, received_on)
