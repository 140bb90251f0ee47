{#
    All rows of a history's ledger after a statement: without the changes that it settles, and with what is settled.

    A watermark stays, because it also says that changes before it were forgotten: with the row that the version has now,
    or without one.
#}
{%- macro lakemerge_settled_ledger_sql(scd2, has_ledger) -%}
select
    {{ lakemerge_keys_sql(scd2.merge) }},
    __sequence,
    'settled' as __kind,
    cast(null as {{ scd2.row_type }}) as __row,
    current_timestamp() as __recorded_at,
    __from
from lakemerge_settled
{%- if has_ledger %}
union all
select
    {{ lakemerge_keys_sql(scd2.merge, 'known') }},
    known.__sequence,
    known.__kind,
    if(settled.__sequence is null, known.__row, settled.__row) as __row,
    known.__recorded_at,
    known.__from
from lakemerge_ledger as known
left join lakemerge_settled as settled
    on {{ lakemerge_keys_equal_sql(scd2.merge, 'known', 'settled') }}
        and known.__kind <> 'truncate'
        and if(
            known.__kind = 'settled',
            coalesce(known.__from >= settled.__from, settled.__from is null) and known.__sequence <= settled.__sequence,
            coalesce(known.__sequence >= settled.__from, true) and coalesce(known.__sequence < settled.__until, true)
        )
where settled.__sequence is null or (known.__kind = 'watermark' and settled.__from is not null)
{%- endif %}
{%- endmacro -%}
