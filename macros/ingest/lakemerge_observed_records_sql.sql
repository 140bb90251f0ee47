{#
    The rows of all records of a run, with `_lakemerge_ok`; those that break a rule also have their file, `_lakemerge_bad_file`, and mark,
    `_lakemerge_bad_mark` (null in files with types). If there are routes, also the changes of their tables and each record's
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
    {{ plan.place_sql }} as _lakemerge_place,
    {%- endif %}
    _lakemerge_ok,
    if(_lakemerge_ok, null, _lakemerge_file) as _lakemerge_bad_file,
    {{ 'cast(null as bigint)' if group.is_typed else 'if(_lakemerge_ok, null, ' ~ plan.mark_sql ~ ')' }} as _lakemerge_bad_mark
from (
    {{ lakemerge_checked_records_sql(plan, group) | indent(4) }}
)
{{ 'union all' if not loop.last }}
{% endfor %}
{%- endmacro -%}
