{#
    What a bitemporal history said in one version of the table, as a query: all versions of the keys
    as they were known then, or those that were thought to be valid at a time.

    Args:
        known_in: the version of the table: a number, or SQL; see `scd2_version_at` for a time.
        at: SQL of the time to be valid at; none for the whole history.

    Example: what did we believe in version 12 about the first of March?
        with customers as ({{ scd2_believed(ref('customers_history'), 12, "timestamp'2026-03-01'") }})
#}
{%- macro scd2_believed(relation, known_in, at=none, start_at='__start_at', end_at='__end_at', known_from='__known_from', known_to='__known_to') -%}
select *
from {{ relation }}
where
    {{ known_from }} <= {{ known_in }}
    and ({{ known_to }} is null or {{ known_to }} > {{ known_in }})
    {%- if at is not none %}
    and {{ start_at }} <= {{ at }}
    and ({{ end_at }} is null or {{ end_at }} > {{ at }})
    {%- endif %}
{%- endmacro -%}
