{#
    A route of an ingest model for Debezium's events as a connector writes them (`before`, `after`, `op`, `source`):
    the value of `routes` for a table that is merged with `lakemerge_debezium_config`. dbt runs the table's model first.

    Args:
        table: the model that makes the table, or its name with the schema.
        columns: names of the row's columns, which are those of the table.
        sequence: SQL of the events' order, as in `lakemerge_debezium_changes`; an empty list for a table whose
            sequence_by reads columns of the row.
#}
{%- macro lakemerge_debezium_route(table, columns, sequence=['source.ts_ms', 'source.lsn']) -%}
    {%- if '.' not in table -%}{%- do ref(table) -%}{%- endif -%}
    {%- set found = {} -%}
    {%- for column in columns -%}
        {%- do found.update({column: "if(op = 'd', before." ~ adapter.quote(column) ~ ", after." ~ adapter.quote(column) ~ ")"}) -%}
    {%- endfor -%}
    {%- for part in sequence -%}{%- do found.update({'__sequence_' ~ loop.index: part}) -%}{%- endfor -%}
    {%- set route = {'table': table, 'columns': found, 'deletes': "op = 'd'"} -%}
    {%- if sequence -%}{%- do route.update({'truncates': "op = 't'"}) -%}{%- endif -%}
    {{- return(route) -}}
{%- endmacro -%}
