{#
    Make discarded partitions available again.

        dbt run-operation lakemerge_put_back --args '{table: clean_records, partitions: ["country=FI/_commit=3"]}'

    Args:
        table: the consumers' output: a name, with or without its schema.
        consumer: only this consumer's; every one's if not given.
        partitions: their names; all that are discarded if not given.
#}
{%- macro lakemerge_put_back(table, consumer=none, partitions=none) -%}
    {%- set names = adapter.consumers.put_back(lakemerge_relation(table), consumer, partitions) -%}
    {%- for name in names or ['nothing was discarded'] -%}
        {%- do log(table ~ ': ' ~ name ~ (' is available again' if names else ''), info=true) -%}
    {%- endfor -%}
    {{- return(names) -}}
{%- endmacro -%}
