{# The rows of all records of a run, with `__ok`, and with `__bad_file`, the file of those that may be none. #}
{%- macro lakemerge_observed_records_sql(plan) -%}
{%- for group in plan.groups -%}
select
    {%- for column in plan.columns %}
    {{ column.quoted }},
    {%- endfor %}
    __ok,
    if(__ok, null, __file) as __bad_file
from (
    {{ lakemerge_checked_records_sql(plan, group) | indent(4) }}
)
{{ 'union all' if not loop.last }}
{% endfor %}
{%- endmacro -%}
