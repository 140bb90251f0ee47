{#
    The number of boundaries of a date part between two times. Weeks begin on Sundays, as in dbt-spark.

    Args:
        first_date: the earlier time, an expression.
        second_date: the later time, an expression.
        datepart: day, week, month, quarter, year, hour, minute, second, millisecond or microsecond.
#}
{% macro lakemerge__datediff(first_date, second_date, datepart) -%}
    {%- set parts = [
        'microsecond', 'millisecond', 'second', 'minute', 'hour', 'day', 'week', 'month', 'quarter', 'year'
    ] -%}
    {%- if datepart | lower not in parts -%}
        {%- do exceptions.raise_compiler_error(
            "Expected `datepart` to be one of " ~ parts | join(', ') ~ "; found " ~ datepart
            ~ ". Correct the call of datediff."
        ) -%}
    {%- endif -%}
    {%- set shift = " + interval '1' day" if datepart | lower == 'week' else "" -%}
    timestampdiff(
        {{ datepart | lower }},
        date_trunc('{{ datepart | lower }}', cast({{ first_date }} as timestamp){{ shift }}),
        date_trunc('{{ datepart | lower }}', cast({{ second_date }} as timestamp){{ shift }})
    )
{%- endmacro %}
