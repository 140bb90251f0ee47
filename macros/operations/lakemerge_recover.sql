{#
    Finish the commit of a writer that died, and take in what other programs wrote, now rather than at the next run.

        dbt run-operation lakemerge_recover --args '{table: product_master}'

    Args:
        table: a name, with or without its schema.
        undo_refused: end a version that was claimed and that the metastore refuses to show: its rows are not in the
            table then.
#}
{%- macro lakemerge_recover(table, undo_refused=false) -%}
    {%- set done = adapter.operations.recover(lakemerge_relation(table), undo_refused) -%}
    {%- for line in done or ['there is nothing to recover'] -%}
        {%- do log(table ~ ': ' ~ line, info=true) -%}
    {%- endfor -%}
    {{- return(done) -}}
{%- endmacro -%}
