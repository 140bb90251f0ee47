{#
    All problems of a record: those of the record as a whole or, if there are none, those of its fields and its row.

    Columns of each: reason, column_name, reason_text.
#}
{%- macro lakemerge_record_problems_sql(plan, group) -%}
{%- set rules = lakemerge_record_sound_sql(plan, group) -%}
case
    {%- for rule in rules %}
    when not coalesce({{ rule[0] }}, false) then array({{ _lakemerge_problem_sql("'" ~ rule[1] ~ "'", 'null', rule[2]) }})
    {%- endfor %}
    {{ 'when true then' if not rules else 'else' }} array_compact(array(
        {%- for column in plan.columns %}
        {%- set exact = lakemerge_field_exact_sql(plan, group, column) %}
        {%- if exact != 'true' %}
        if(coalesce({{ exact }}, false), null, {{ _lakemerge_problem_sql(
            lakemerge_field_reason_sql(plan, group, column), "'" ~ column.name ~ "'", lakemerge_field_text_sql(plan, group, column)
        ) }}),
        {%- endif %}
        {%- endfor %}
        {%- for name, broken in plan.constraints.items() %}
        if(coalesce({{ broken }}, false), {{ _lakemerge_problem_sql("'constraint_violated'", 'null', adapter.string_literal(name)) }}, null),
        {%- endfor %}
        {%- for rule in plan.rules %}
        if({{ rule.keeps }}, null, {{ _lakemerge_problem_sql(
            adapter.string_literal(rule.reason), adapter.string_literal(rule.column), adapter.string_literal(rule.text)
        ) }}),
        {%- endfor %}
        {%- for rule in lakemerge_route_rules(plan.routing) %}
        if({{ rule[0] }}, null, {{ _lakemerge_problem_sql(rule[1], rule[2], rule[3]) }}),
        {%- endfor %}
        cast(null as struct<reason: string, column_name: string, reason_text: string>)
    ))
end
{%- endmacro -%}

{# A problem of a record, as a struct. #}
{%- macro _lakemerge_problem_sql(reason, about, text) -%}
    named_struct('reason', {{ reason }}, 'column_name', cast({{ about }} as string), 'reason_text', {{ text }})
{%- endmacro -%}
