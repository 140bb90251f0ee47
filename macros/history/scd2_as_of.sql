{#
    The versions of a history that were valid at a time, one row for each key, as a query.

    Example: with customers as ({{ scd2_as_of(ref('customers_history'), "timestamp'2026-03-01'") }})
#}
{%- macro scd2_as_of(relation, at, start_at='__start_at', end_at='__end_at', current_end=none, known_to=none) -%}
select *
from {{ relation }}
where
    {{ start_at }} <= {{ at }}
    and ({{ end_at }} is null or {{ end_at }} > {{ at }}{% if current_end is not none %} or {{ end_at }} = {{ current_end }}{% endif %})
    {%- if known_to is not none %}
    and {{ known_to }} is null
    {%- endif %}
{%- endmacro -%}
