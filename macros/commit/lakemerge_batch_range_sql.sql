{# SQL that is true for the rows of the current microbatch. Its bounds are in UTC, as dbt's event times are. #}
{%- macro lakemerge_batch_range_sql() -%}
    {%- set bounds = model.batch -%}
    {%- set event_time = model.config.event_time -%}
    {%- if not bounds or not bounds.event_time_start or not bounds.event_time_end -%}
        {%- do exceptions.raise_compiler_error(
            "Expected a batch with event_time_start and event_time_end for strategy 'microbatch'; found none. "
            ~ 'Set event_time, batch_size and begin, and run the model by `dbt run` or `dbt build`.'
        ) -%}
    {%- endif -%}
    (
        cast({{ event_time }} as timestamp) >= timestamp'{{ bounds.event_time_start }}'
        and cast({{ event_time }} as timestamp) < timestamp'{{ bounds.event_time_end }}'
    )
{%- endmacro -%}
