{#
    Forget a consumer: what it has processed, its rows in `<table>__consumers`, and the versions it keeps from vacuum.

        dbt run-operation lakemerge_drop_consumer --args '{table: clean_records, source: raw_records, consumer: clean_records}'

    Args:
        table: the consumer's output: a name, with or without its schema.
        source: the table that it consumes.
        consumer: its name, which is the model's unless consume() was given one.
#}
{%- macro lakemerge_drop_consumer(table, source, consumer) -%}
    {%- do adapter.consumers.drop(lakemerge_relation(table), lakemerge_relation(source), consumer) -%}
    {%- do log(table ~ ': consumer ' ~ consumer ~ ' of ' ~ source ~ ' is forgotten', info=true) -%}
{%- endmacro -%}
