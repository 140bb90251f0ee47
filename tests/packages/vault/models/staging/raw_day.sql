select * from {{ ref('raw_orders') }}
where load_date = date '2026-03-0{{ var("day") }}'
