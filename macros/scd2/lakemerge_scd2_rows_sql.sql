{#
    The new content of the touched partitions: the stored rows that stay, the new and changed versions, in a bitemporal
    table also what these replace, and the rows of the closed partitions that are merged into this one.

    Args:
        filter: SQL over the partition columns for the touched partitions; none if no stored row is kept.
        merged: names of closed partitions to merge.
        rebalance: whether to shuffle the rows of each partition together, for few files; otherwise each task writes what
            it has read, and the changes add `change_files` small files to each partition.
#}
{%- macro lakemerge_scd2_rows_sql(txn, scd2, filter, merged, broadcast, rebalance, change_files) -%}
select {{ '/*+ rebalance(' ~ (scd2.columns | selectattr('is_partition') | map(attribute='quoted') | join(', ')) ~ ') */' if rebalance and txn.partitions else '/*+ rebalance */' if rebalance }}
    *
from (
    {%- if filter %}
    {{ lakemerge_scd2_kept_rows_sql(scd2, filter, broadcast) | indent(4) }}
    union all
    {%- endif %}
    select {{ '/*+ coalesce(' ~ change_files ~ ') */' if not rebalance }}
        {%- for column, value in scd2.written('__row', '__start', '__end', scd2.version, 'cast(null as bigint)').items() %}
        {{ value }} as {{ column }}{{ ',' if not loop.last }}
        {%- endfor %}
    from lakemerge_versions
    where __is_version and not __is_same
    {%- if filter and scd2.bitemporal %}
    union all
    select {{ '/*+ coalesce(' ~ change_files ~ ') */' if not rebalance }}
        {%- for column, value in scd2.written('old.__row', 'old.__start', 'old.__end', 'old.__known', scd2.version).items() %}
        {{ value }} as {{ column }}{{ ',' if not loop.last }}
        {%- endfor %}
    from lakemerge_versions
    lateral view explode(__stored) exploded as old
    where not __is_same
    {%- endif %}
    {%- if merged %}
    union all
    {{ lakemerge_merged_history_sql(txn, scd2.layout, merged, scd2.columns) | indent(4) }}
    {%- endif %}
)
{%- endmacro -%}
