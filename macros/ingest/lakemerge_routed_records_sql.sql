{#
    The changes of a route's table, as a feed.

    Args:
        route: a RoutePlan.
        records: the view of the records, with the columns of `lakemerge_observed_records_sql`.
#}
{%- macro lakemerge_routed_records_sql(route, records) -%}
select
    {{ route.feed }}.*
    {%- if route.merges %},
    _lakemerge_place as __lakemerge_order
    {%- endif %}
from {{ records }}
where _lakemerge_ok and {{ route.feed }} is not null
{%- endmacro -%}
