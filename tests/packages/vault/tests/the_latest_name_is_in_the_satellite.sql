select customer_hk
from {{ ref('sat_customer') }}
group by customer_hk
having
    max(customer_hk) = upper(md5('10'))
    and max_by(customer_name, load_date) <> '{{ "Ada" if var("day") == 1 else "Ada Lovelace" }}'
