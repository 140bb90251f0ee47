-- One open version an order, whose customer is the one of its last load.
select order_hk
from (
    select
        *,
        row_number() over (partition by order_customer_hk order by load_date desc, end_date asc) as age
    from {{ ref('eff_sat_order_customer') }}
)
where age = 1 and end_date = date '9999-12-31'
group by order_hk
having count(*) <> 1
