{#
    Spark's hint that gathers the rows of each partition in few files.

    Args:
        gather: 'rebalance', by a shuffle; 'one_task', in one file each, without; empty, so that each task writes the rows
            that it has read.
#}
{%- macro lakemerge_gather_hint(merge, gather) -%}
    {%- if gather == 'one_task' -%}
        /*+ coalesce(1) */
    {%- elif gather == 'rebalance' -%}
        {{ lakemerge_rebalance_hint(merge) }}
    {%- endif -%}
{%- endmacro -%}
