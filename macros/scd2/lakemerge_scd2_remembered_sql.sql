{#
    What the ledger remembers of the keys in question: the feed's keys, or every key if the feed has a truncate.

    Columns: those of the view `lakemerge_ledger`.

    Args:
        truncates: whether the feed has truncates.
#}
{%- macro lakemerge_scd2_remembered_sql(scd2, broadcast, truncates) -%}
select {{ '/*+ broadcast(touched) */ ' if broadcast and not truncates }}ledger.*
from lakemerge_ledger as ledger
{%- if not truncates %}
left semi join lakemerge_changes as touched
    on {{ lakemerge_keys_equal_sql(scd2.merge, 'ledger', 'touched') }}
{%- endif %}
where ledger.__kind <> 'truncate'
{%- endmacro -%}
