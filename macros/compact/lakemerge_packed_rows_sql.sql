{#
    The rows of a compaction's groups, a branch for each group, so that no task meets two partitions. Partitions that
    become one differ only in their last partition column, which gets the number of the newest.
#}
{%- macro lakemerge_packed_rows_sql(txn, groups) -%}
    {%- for group in groups -%}
select
        {%- for column in txn.plan.columns %}
    {{ column.from_table if group.commit is none or not loop.last else 'cast(' ~ group.commit ~ ' as ' ~ column.type ~ ')' }} as {{ column.quoted }}{{ ',' if not loop.last }}
        {%- endfor %}
from {{ txn.base_table }}
where {{ txn.partitions.filter(group.members, exact=true) }}
        {%- if not loop.last %}
union all
{% endif -%}
    {%- endfor -%}
{%- endmacro -%}
