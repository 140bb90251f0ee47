{# Each version has a beginning, and ends after it, if it ends. #}
{% test history_has_ordered_bounds(model, start_at='__start_at', end_at='__end_at') -%}
select *
from {{ model }}
where {{ start_at }} is null or {{ end_at }} <= {{ start_at }}
{%- endtest %}
