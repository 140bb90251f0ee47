{#
    The rows of closed partitions that a commit merges into the one that it adds; see `HistoryLayout.to_merge`.

    Args:
        names: names of partitions that the commit writes or removes, and that no other part of it reads.
        columns: the columns of the commit's rows; those of the plan if none.
#}
{%- macro lakemerge_merged_history_sql(txn, history, names, columns=none) -%}
select
    {%- for column in columns or txn.plan.columns %}
    {{ history.value('false') if column.name == history.partition else column.from_table }} as {{ column.quoted }}{{ ',' if not loop.last }}
    {%- endfor %}
from {{ txn.table }}
where {{ txn.partitions.filter(names) }}
{%- endmacro -%}
