{# Spark's hint that rebalances the rows of each partition in few files of even size; none without partitions. #}
{%- macro lakemerge_rebalance_hint(merge) -%}
    {%- if merge.partitions -%}
        /*+ rebalance({% for column in merge.partitions %}{{ column.quoted }}{{ ', ' if not loop.last }}{% endfor %}) */
    {%- else -%}
        /*+ rebalance */
    {%- endif -%}
{%- endmacro -%}
