{#
    The rows that a statement adds to the ledger: up to which sequence a feed's changes of a key are settled, because its
    row was deleted ('delete') or corrected.

    Where the ledger has the sequences of live rows, that of a corrected one stays a 'live' row: nothing else would say
    which rows a later truncate ends.
#}
{%- macro lakemerge_corrections_sql(merge, has_ledger) -%}
{%- set known = lakemerge_known_sequence_sql(merge, has_ledger) -%}
select
    {{ lakemerge_keys_sql(merge, 'matched') }},
    {{ known }} as __sequence,
    case when matched.__action = 'delete' then 'delete' else '{{ 'corrected' if merge.stored_sequence else 'live' }}' end as __kind,
    current_timestamp() as __recorded_at
from lakemerge_resolved as matched
{%- if has_ledger %}
left join (
    select {{ lakemerge_keys_sql(merge) }}, max(__sequence) as __ledger_sequence
    from lakemerge_ledger
    where __kind <> 'truncate'
    group by {{ lakemerge_keys_sql(merge) }}
) as remembered
    on {{ lakemerge_keys_equal_sql(merge, 'matched', 'remembered') }}
{%- endif %}
where matched.__action in ('update', 'delete') and {{ known }} is not null
{%- endmacro -%}
