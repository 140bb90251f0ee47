{#
    The rows that this merge adds to a history's ledger; if the ledger is rewritten, all its rows.

    Columns: __key_1…, __sequence, __kind ('change', 'delete', 'truncate', 'watermark', 'settled'), __row (of a change, as
    it came), __recorded_at, __from (of what a statement has settled).
#}
{%- macro lakemerge_scd2_ledger_sql(scd2, has_ledger, rewrite) -%}
{%- set keys = lakemerge_keys_sql(scd2.merge) -%}
select
    {{ keys }},
    remembered.__sequence,
    remembered.__kind,
    remembered.__row,
    current_timestamp() as __recorded_at,
    cast(null as {{ scd2.start_at.type }}) as __from
from lakemerge_versions
lateral view explode(__forgotten) exploded as remembered
union all
select
    {% for key in scd2.keys %}cast(null as {{ key.plan.type }}) as __key_{{ loop.index }},
    {% endfor -%}
    __sequence,
    'truncate' as __kind,
    cast(null as {{ scd2.row_type }}) as __row,
    current_timestamp() as __recorded_at,
    cast(null as {{ scd2.start_at.type }}) as __from
from (
    {{ lakemerge_scd2_new_truncates_sql(has_ledger) | indent(4) }}
)
{%- if rewrite %}
union all
{{ lakemerge_scd2_compacted_ledger_sql(scd2) }}
{%- endif %}
{%- endmacro -%}
