{#
    Let a consumer start again. Runs in progress can no longer commit; the output keeps its rows.

        dbt run-operation lakemerge_reset_consumer --args '{table: clean_records, source: raw_records, consumer: clean_records, version: 12}'

    Args:
        table: the consumer's output: a name, with or without its schema.
        source: the table that it consumes.
        consumer: its name, which is the model's unless consume() was given one.
        version: the consumer takes what came after this version of the source; everything if not given.
#}
{%- macro lakemerge_reset_consumer(table, source, consumer, version=none) -%}
    {%- do adapter.consumers.reset(lakemerge_relation(table), lakemerge_relation(source), consumer, version) -%}
    {%- set begin = 'all of ' ~ source if version is none else 'what came after version ' ~ version ~ ' of ' ~ source -%}
    {%- do log(table ~ ': ' ~ consumer ~ ' takes ' ~ begin, info=true) -%}
{%- endmacro -%}
