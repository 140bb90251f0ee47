{#
    The rows of all records of a run, with `__ok`; those that break a rule also have their file, `__bad_file`, and mark,
    `__bad_mark` (null in files with types). If there are routes, also the changes of their tables and each record's
    place.
#}
{%- macro lakemerge_observed_records_sql(plan) -%}
{%- for group in plan.groups -%}
select
    {%- for column in plan.columns %}
    {{ column.quoted }},
    {%- endfor %}
    {%- if plan.routing %}
    {%- for route in plan.routing.routes %}
    {{ route.feed }},
    {%- endfor %}
    {{ plan.place_sql }} as __place,
    {%- endif %}
    __ok,
    if(__ok, null, __file) as __bad_file,
    {{ 'cast(null as bigint)' if group.is_typed else 'if(__ok, null, ' ~ plan.mark_sql ~ ')' }} as __bad_mark
from (
    {{ lakemerge_checked_records_sql(plan, group) | indent(4) }}
)
{{ 'union all' if not loop.last }}
{% endfor %}
{%- endmacro -%}
