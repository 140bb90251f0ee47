{#
    The rows that a rewritten ledger keeps. Of a key's changes that are past their retention, only the newest stays, as
    the key's watermark: its values, and the fact that changes before it may have been forgotten.
#}
{%- macro lakemerge_scd2_compacted_ledger_sql(scd2) -%}
select
    {{ lakemerge_keys_sql(scd2.merge) }},
    __sequence,
    if(__is_expired, 'watermark', __kind) as __kind,
    __row,
    __recorded_at,
    __from
from (
    select
        *,
        max(if(__is_expired, __sequence, null)) over (partition by {{ lakemerge_keys_sql(scd2.merge) }}) as __watermark
    from lakemerge_ledger
)
where not __is_expired or __sequence = __watermark
{%- endmacro -%}
