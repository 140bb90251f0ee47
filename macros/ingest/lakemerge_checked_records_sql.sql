{#
    The records of a group as rows, with `_lakemerge_ok`: whether they keep all rules. Computed in layers (parts, fields,
    values, changes of other tables, checks), so that nothing is computed twice and the code that Spark generates for
    each layer stays short.

    Args:
        plan: how records become rows: an IngestPlan.
        group: files or records that are read the same way: a RecordGroup.
#}
{%- macro lakemerge_checked_records_sql(plan, group) -%}
{%- set conditions = [] -%}
{%- for rule in lakemerge_record_sound_sql(plan, group) -%}
    {%- do conditions.append(rule[3] | default(rule[0])) -%}
{%- endfor -%}
{%- for column in plan.columns -%}
    {%- set exact = lakemerge_field_exact_sql(plan, group, column) -%}
    {%- if exact != 'true' -%}
        {%- do conditions.append(exact) -%}
    {%- endif -%}
{%- endfor -%}
{%- for broken in plan.constraints.values() -%}
    {%- do conditions.append('not coalesce(' ~ broken ~ ', false)') -%}
{%- endfor -%}
{%- for rule in plan.rules -%}
    {%- do conditions.append(rule.keeps) -%}
{%- endfor -%}
{%- for rule in lakemerge_route_rules(plan.routing) -%}
    {%- do conditions.append(rule[0]) -%}
{%- endfor -%}
{%- set values_sql -%}
select
    {%- for column in plan.columns %}
    {{ lakemerge_field_value_sql(plan, group, column) }} as {{ column.quoted }},
    {%- endfor %}
    *
from (
    {{ lakemerge_record_fields_sql(plan, group) | indent(4) }}
)
{%- endset -%}
select
    *,
    coalesce({{ adapter.all_of(conditions) | indent(4) }}, false) as _lakemerge_ok
from (
    {{ (lakemerge_route_values_sql(plan.routing, values_sql) if plan.routing else values_sql) | indent(4) }}
)
{%- endmacro -%}
