{#
    The current versions of a history, one row for each existing key, as a query.

    Args:
        partition: the history_partition of a table of layout split, so that its closed rows are not read.

    Example: with customers as ({{ scd2_current(ref('customers_history'), partition='dbt_closed_in') }})
#}
{%- macro scd2_current(relation, end_at='__end_at', current_end=none, known_to=none, partition=none) -%}
select *
from {{ relation }}
where
    ({{ end_at }} is null{% if current_end is not none %} or {{ end_at }} = {{ current_end }}{% endif %})
    {%- if known_to is not none %}
    and {{ known_to }} is null
    {%- endif %}
    {%- if partition is not none %}
    and {{ partition }} = 0
    {%- endif %}
{%- endmacro -%}
