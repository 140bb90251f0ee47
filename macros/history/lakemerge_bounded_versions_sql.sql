{# The CTE `versions` of a history for a test: keys, bounds with null for an open end, and the previous version. #}
{%- macro lakemerge_bounded_versions_sql(model, unique_key, start_at, end_at, current_end, known_to) -%}
{%- set keys = [unique_key] if unique_key is string else unique_key -%}
bounded as (
    select
        {{ keys | join(', ') }},
        {{ start_at }} as starts_at,
        {{ end_at if current_end is none else 'nullif(' ~ end_at ~ ', ' ~ current_end ~ ')' }} as ends_at
    from {{ model }}
    {%- if known_to is not none %}
    where {{ known_to }} is null
    {%- endif %}
),

versions as (
    select
        *,
        lag(struct(ends_at)) over (partition by {{ keys | join(', ') }} order by starts_at, ends_at nulls last) as version_before
    from bounded
)
{%- endmacro -%}
