{#
    The rows of the records that keep all rules, in the table's columns, from the view `lakemerge_records`.

    Args:
        txn: the transaction of this attempt.
        plan: how records become rows: an IngestPlan.
        kept: SQL of stored rows to write with them, or none.
#}
{%- macro lakemerge_accepted_rows_sql(txn, plan, kept=none) -%}
{%- set keys = txn.plan.columns | selectattr('is_partition') | rejectattr('name', 'equalto', txn.commit_column) | list -%}
{%- set hint = 'rebalance(' ~ (keys | map(attribute='quoted') | join(', ')) ~ ')' if keys else 'coalesce(' ~ plan.tasks ~ ')' -%}
select /*+ {{ hint }} */ *
from (
    {%- if kept %}
    {{ kept | indent(4) }}
    {{ 'union all' if plan.groups }}
    {%- endif %}
    {%- if plan.groups %}
    select
        {%- for column in txn.plan.columns %}
        {{ column.from_feed }} as {{ column.quoted }}{{ ',' if not loop.last }}
        {%- endfor %}
    from lakemerge_records
    where _lakemerge_ok
    {%- endif %}
)
{%- endmacro -%}
