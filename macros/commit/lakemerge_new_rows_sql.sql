{#
    The feed's rows in the table's columns and types, in few files for each partition.

    Args:
        kept: SQL of stored rows (of the table's columns) to write with them, or none.
        feed: the view to read the new rows from, with the columns of `lakemerge_typed_feed`.
#}
{%- macro lakemerge_new_rows_sql(txn, kept=none, feed='lakemerge_typed_feed') -%}
select /*+ rebalance{% if txn.partitions %}({% for column in txn.plan.columns if column.is_partition %}{{ column.quoted }}{{ ', ' if not loop.last }}{% endfor %}){% endif %} */
    *
from (
    {%- if kept %}
    {{ kept | indent(4) }}
    union all
    {%- endif %}
    select
        {%- for column in txn.plan.columns %}
        {{ column.quoted if column.in_feed else column.from_feed ~ ' as ' ~ column.quoted }}{{ ',' if not loop.last }}
        {%- endfor %}
    from {{ feed }}
)
{%- endmacro -%}
