{#
    Spark's hint that gathers the rows of each partition into few files.

    Args:
        gather: 'rebalance' gathers them by a shuffle; 'one_task' writes one file each, without a shuffle; empty lets
            each task write the rows that it has read.
#}
{%- macro lakemerge_gather_hint(merge, gather) -%}
    {%- if gather == 'one_task' -%}
        /*+ coalesce(1) */
    {%- elif gather == 'rebalance' -%}
        {{ lakemerge_rebalance_hint(merge) }}
    {%- endif -%}
{%- endmacro -%}
