{#
    The rules for the changes that records become in the tables of their routes, over the columns of
    `lakemerge_route_values_sql`. Each is a list: SQL that is true if a record keeps it, SQL of the reason's code, the
    column (null for none), and SQL of the reason's text.

    Args:
        routing: where records go: a RoutingPlan; none for nowhere.
#}
{%- macro lakemerge_route_rules(routing) -%}
    {%- set rules = [] -%}
    {%- if routing and not routing.keeps_unknown -%}
        {%- set found = "concat('expected one of ', " ~ routing.values_text ~ ", ', found ', coalesce(_lakemerge_route, 'null'))" -%}
        {%- do rules.append(['coalesce(_lakemerge_route in (' ~ routing.values_sql ~ '), false)', "'unknown_route'", 'null', found]) -%}
    {%- endif -%}
    {%- for route in (routing.routes if routing else []) -%}
        {%- for column in route.columns -%}
            {%- set exact = _lakemerge_route_exact_sql(route, column) -%}
            {%- if exact != 'true' -%}
                {%- do rules.append([
                    route.feed ~ ' is null or coalesce(' ~ exact ~ ', false)',
                    _lakemerge_route_reason_sql(route, column),
                    adapter.string_literal(column.column.name),
                    _lakemerge_route_text_sql(route, column)
                ]) -%}
            {%- endif -%}
        {%- endfor -%}
        {%- for rule in route.rules -%}
            {%- do rules.append([
                route.feed ~ ' is null or coalesce(' ~ rule.keeps ~ ', false)',
                adapter.string_literal(rule.reason),
                adapter.string_literal(rule.column) if rule.column else 'null',
                adapter.string_literal(rule.text)
            ]) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{- return(rules) -}}
{%- endmacro -%}

{# Whether a change's column is null or has the record's value unchanged, and the table can hold it. #}
{%- macro _lakemerge_route_exact_sql(route, route_column) -%}
    {%- set column, source, value = route_column.column, '(' ~ route_column.source ~ ')', route.value_of(route_column) -%}
    {%- if route_column.typed is none -%}
        {%- set exact = lakemerge_text_exact_sql(column.type, source, value, route.options) -%}
    {%- else -%}
        {%- set conditions = [route_column.typed.exact, lakemerge_held_sql(column.type, value, route.options)] | reject('equalto', 'true') | list -%}
        {%- set exact = adapter.all_of(conditions) -%}
    {%- endif -%}
    {{ 'true' if exact == 'true' else '(' ~ source ~ ' is null or (' ~ exact ~ '))' }}
{%- endmacro -%}

{# SQL of the code of the problem of a change's column. #}
{%- macro _lakemerge_route_reason_sql(route, route_column) -%}
    {%- set type, value = route_column.column.type, route.value_of(route_column) -%}
    {%- if route_column.typed is none -%}
        {{ lakemerge_text_reason_sql(type, '(' ~ route_column.source ~ ')', value) }}
    {%- else -%}
        if({{ value }} is null, 'overflow', '{{ {'char': 'too_long', 'date': 'bad_date', 'timestamp': 'bad_timestamp'}.get(type.kind, 'precision_lost') }}')
    {%- endif -%}
{%- endmacro -%}

{# What was expected of a change's column, and what was found. #}
{%- macro _lakemerge_route_text_sql(route, route_column) -%}
    {%- set expected = 'expected ' ~ route_column.column.declared ~ ' for ' ~ route.table ~ ', found ' -%}
    concat({{ adapter.string_literal(expected) }}, left(cast(({{ route_column.source }}) as string), 100))
{%- endmacro -%}
