-- The rows that are expected of each table after the first and the second day.
{% set expected = {
    'hub_customer': [2, 3],
    'hub_order': [3, 5],
    'link_order_customer': [3, 6],
    'nh_link_orders': [3, 6],
    'sat_customer': [2, 4],
    'ma_sat_phone': [3, 5],
    'eff_sat_order_customer': [3, 7],
    'xts_customer': [2, 5],
    'ref_country': [2, 2],
    'pit_customer': [4, 6],
} %}
{% for table, rows in expected.items() %}
select '{{ table }}' as name, count(*) as found, {{ rows[var('day') - 1] }} as expected
from {{ ref(table) }}
having count(*) <> {{ rows[var('day') - 1] }}
{{ 'union all' if not loop.last }}
{% endfor %}
