{#
    The range of event times that the current microbatch replaces: its bounds, the event time in SQL, and SQL that is
    true for the rows in the range, as dbt filters the model's inputs.
#}
{%- macro lakemerge_batch_range(txn) -%}
    {%- set batch = model.batch -%}
    {%- set found = namespace(event_time=model.config.event_time | string) -%}
    {%- if not batch or not batch.event_time_start or not batch.event_time_end -%}
        {%- do exceptions.raise_compiler_error(
            "Expected a batch with event_time_start and event_time_end for strategy 'microbatch'; found none. "
            ~ 'Set event_time, batch_size and begin, and run the model by `dbt run` or `dbt build`.'
        ) -%}
    {%- endif -%}
    {%- for column in txn.plan.columns if column.name | lower == model.config.event_time | lower -%}
        {%- set found.event_time = column.quoted -%}
    {%- endfor -%}
    {{- return({
        'event_time': found.event_time,
        'start': batch.event_time_start,
        'end': batch.event_time_end,
        'sql': this.in_event_times(found.event_time, batch.event_time_start, batch.event_time_end),
    }) -}}
{%- endmacro -%}
