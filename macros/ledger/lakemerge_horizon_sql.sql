{#
    The sequence of the latest truncate, in this feed or an earlier one. Changes up to it are void.

    Args:
        join: how the changes meet the ledger; see `lakemerge_join_hint`.
#}
{%- macro lakemerge_horizon_sql(merge, has_ledger, join='') -%}
select max(__sequence) from (
            select {{ lakemerge_one_task_hint(join) }} * from (
                select __sequence from lakemerge_latest where __is_truncate
                {%- if has_ledger %}
                union all
                select __sequence from lakemerge_ledger where __kind = 'truncate'
                {%- endif %}
            )
        )
{%- endmacro -%}
