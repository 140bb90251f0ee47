{#
    The join of facts with the versions that were valid when they happened: a join clause, which gives each fact one
    version at most.

    Args:
        keys: columns that facts and history share, one or a list; or a dict from the facts' to the history's names.
        at: SQL of the fact's time, of the type of the history's bounds.
        kind: left (facts without a version stay) or inner.

    Example:
        select orders.*, customers.segment
        from {{ ref('orders') }} as orders
        {{ scd2_join(ref('customers_history'), 'customer_id', 'orders.ordered_at', facts='orders', versions='customers') }}
#}
{%- macro scd2_join(relation, keys, at, facts='facts', versions='versions', kind='left', start_at='__start_at', end_at='__end_at', current_end=none, known_to=none) -%}
{%- set names = keys if keys is mapping else {} -%}
{%- if keys is not mapping -%}
    {%- for key in ([keys] if keys is string else keys) -%}{%- do names.update({key: key}) -%}{%- endfor -%}
{%- endif -%}
{{ kind }} join {{ relation }} as {{ versions }}
    on
        {% for of_fact, of_history in names.items() -%}
        {{ facts }}.{{ of_fact }} = {{ versions }}.{{ of_history }} and {% endfor -%}
        {{ versions }}.{{ start_at }} <= {{ at }}
        and ({{ versions }}.{{ end_at }} is null or {{ versions }}.{{ end_at }} > {{ at }}{% if current_end is not none %} or {{ versions }}.{{ end_at }} = {{ current_end }}{% endif %})
        {%- if known_to is not none %}
        and {{ versions }}.{{ known_to }} is null
        {%- endif %}
{%- endmacro -%}
