{#
    Finish the commit of a writer that died, and take in what other programs wrote, now rather than at the next run.

        dbt run-operation lakemerge_recover --args '{table: product_master}'

    Args:
        table: a name, with or without its schema.
#}
{%- macro lakemerge_recover(table) -%}
    {%- set done = adapter.operations.recover(lakemerge_relation(table)) -%}
    {%- for line in done or ['there is nothing to recover'] -%}
        {%- do log(table ~ ': ' ~ line, info=true) -%}
    {%- endfor -%}
    {{- return(done) -}}
{%- endmacro -%}
