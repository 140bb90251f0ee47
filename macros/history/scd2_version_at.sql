{#
    The version that a table had at a time, by the times of its commits: 0 before the first. Use it only for
    questions of people, because versions are ordered by number and not by a clock.

    Example: {{ scd2_version_at(ref('customers_history'), '2026-03-01 12:00:00') }} gives `12`; the time is UTC.
#}
{%- macro scd2_version_at(relation, at) -%}
    {%- if execute -%}
        {{- return(adapter.operations.version_at(relation, at)) -}}
    {%- endif -%}
    {{- return(0) -}}
{%- endmacro -%}
