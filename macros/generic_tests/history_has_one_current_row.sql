{# No key has two current versions; with `for_every_key` each key has one (for sources without deletes). #}
{% test history_has_one_current_row(model, unique_key, end_at='__end_at', current_end=none, known_to=none, for_every_key=false) -%}
{%- set keys = [unique_key] if unique_key is string else unique_key -%}
{%- set is_current = '(' ~ end_at ~ ' is null' ~ (' or ' ~ end_at ~ ' = ' ~ current_end if current_end is not none else '') ~ ')' -%}
select
    {{ keys | join(', ') }},
    count_if({{ is_current }}) as current_rows
from {{ model }}
{%- if known_to is not none %}
where {{ known_to }} is null
{%- endif %}
group by {{ keys | join(', ') }}
having count_if({{ is_current }}) {{ '<>' if for_every_key else '>' }} 1
{%- endtest %}
