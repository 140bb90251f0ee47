{# The rows of the partitions that a compaction merges. Each moves to the partition of its group's newest commit. #}
{%- macro lakemerge_compacted_rows_sql(txn) -%}
{%- set keys = txn.plan.columns | selectattr('is_partition') | map(attribute='quoted') | list -%}
select /*+ rebalance({{ keys | join(', ') }}) */
    *
from (
    {%- for group in txn.groups %}
    select
        {%- for column in txn.plan.columns %}
        {{ column.from_table if not loop.last else 'cast(' ~ group.commit ~ ' as ' ~ column.type ~ ')' }} as {{ column.quoted }}{{ ',' if not loop.last }}
        {%- endfor %}
    from {{ txn.table }}
    where {{ txn.partition_filter(group.members, exact=true) }}
    {%- if not loop.last %}
    union all
    {%- endif %}
    {%- endfor %}
)
{%- endmacro -%}
