{#
    Records with the changes that they become in the tables of their routes: `_lakemerge_route`, and for each route a struct, the
    change of its table, which is null for records of other routes.

    Args:
        routing: where records go: a RoutingPlan.
        records_sql: the records, with a column for each of the table's.
#}
{%- macro lakemerge_route_values_sql(routing, records_sql) -%}
select
    *,
    {%- for route in routing.routes %}
    if(_lakemerge_route = {{ route.literal }}, named_struct(
        {%- for column in route.columns %}
        {{ adapter.string_literal(column.column.name) }}, {{ _lakemerge_route_value_sql(route, column) }}{{ ',' if not loop.last or route.flags }}
        {%- endfor %}
        {%- for name, condition in route.flags.items() %}
        {{ adapter.string_literal(name) }}, coalesce({{ condition }}, false){{ ',' if not loop.last }}
        {%- endfor %}
    ), null) as {{ route.feed }}{{ ',' if not loop.last }}
    {%- endfor %}
from (
    select
        *,
        cast({{ routing.by }} as string) as _lakemerge_route
    from (
        {{ records_sql | indent(8) }}
    )
)
{%- endmacro -%}

{# The value of a change's column, in the type of the table. #}
{%- macro _lakemerge_route_value_sql(route, route_column) -%}
    {%- if route_column.typed is none -%}
        {{ lakemerge_text_value_sql(route_column.column.type, '(' ~ route_column.source ~ ')', route.options) }}
    {%- else -%}
        {{ route_column.typed.value }}
    {%- endif -%}
{%- endmacro -%}
