{# The rows of one delta that replaces those in `lakemerge_deltas_to_fold`: the newest row of each key. #}
{%- macro lakemerge_folded_deltas_sql(txn) -%}
select
    {%- for column in txn.plan.columns %}
    {{ column.quoted }},
    {%- endfor %}
    `_lakemerge_deleted`,
    `_lakemerge_order`
from (
    select
        *,
        row_number() over (
            partition by {{ lakemerge_overlay_keys_sql(txn) }}
            order by `_lakemerge_order` desc
        ) as `_lakemerge_newest`
    from lakemerge_deltas_to_fold
)
where `_lakemerge_newest` = 1
{%- endmacro -%}
