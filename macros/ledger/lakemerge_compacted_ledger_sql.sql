{# The rewritten ledger: its rows and those that this merge adds, with only the highest sequence of each key. #}
{%- macro lakemerge_compacted_ledger_sql(merge) -%}
select
    {{ lakemerge_keys_sql(merge) }},
    max(__sequence) as __sequence,
    max_by(__kind, struct(__sequence, __kind = 'corrected')) as __kind,
    max_by(__recorded_at, struct(__sequence, __kind = 'corrected')) as __recorded_at
from (
    select {{ lakemerge_keys_sql(merge) }}, __sequence, __kind, __recorded_at from lakemerge_ledger
    union all
    {{ lakemerge_ledger_rows_sql(merge) | indent(4) }}
)
group by {{ lakemerge_keys_sql(merge) }}, __kind = 'truncate'
{%- endmacro -%}
