{#
    Print which partitions the consumers that write to a table have available, in progress, processed and discarded, and
    bring the table `<table>__consumers` up to date with it.

        dbt run-operation lakemerge_consumers --args '{table: clean_records, state: discarded}'

    Args:
        table: the consumers' output: a name, with or without its schema.
        state: only those of this state; all if not given.
#}
{%- macro lakemerge_consumers(table, state=none) -%}
    {%- set rows = adapter.consumers.partitions(lakemerge_relation(table)) -%}
    {%- if state -%}{%- set rows = rows | selectattr('state', 'equalto', state) | list -%}{%- endif -%}
    {%- for row in rows -%}
        {%- do log(
            '%s of %s: %-11s %-40s %12s bytes, %s failures, %s deaths  %s  %s' | format(
                row.consumer, row.source, row.state, row.partition or '(the whole table)', row.bytes, row.failures,
                row.deaths, row.changed_at, row.reason
            ),
            info=true
        ) -%}
    {%- endfor -%}
    {%- do log(table ~ ': ' ~ (rows | length) ~ ' partitions', info=true) -%}
    {{- return(rows) -}}
{%- endmacro -%}
