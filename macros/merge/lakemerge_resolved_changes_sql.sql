{#
    The action of each change: `lakemerge_latest` joined with the stored rows of the same keys and with the ledger.

    Columns: __key_1…, __sequence, __is_delete, __row (the change's own), __new_row (what the table will hold),
    __partitions (of the stored rows of the key), and __action:

    insert, update, delete    as they say
    tombstone                 a delete of a key that does not exist: remembered, because an older insert may come later
    late                      something newer is stored or was deleted or truncated
    same                      the stored row has this sequence (without a sequence: these values) already

    Args:
        filter: SQL over the partition columns that no stored row with a key of the feed fails.
        join: how the changes meet the stored rows; see `lakemerge_join_hint`.
        has_ledger: whether the view `lakemerge_ledger` exists.
#}
{%- macro lakemerge_resolved_changes_sql(merge, filter, join, has_ledger) -%}
{%- set small = ['matched'] * merge.exists + ['remembered'] * has_ledger -%}
with latest as (
    select {{ lakemerge_one_task_hint(join) }} * from lakemerge_latest where not __is_truncate
),
{% if merge.exists %}
{{ lakemerge_matched_rows_sql(merge, filter, join) }},
{% endif %}
{%- if has_ledger %}
remembered as (
    select {{ lakemerge_join_hint(join if join == 'one_task' else '', ['latest']) }}
        {{ lakemerge_keys_sql(merge, 'ledger') }},
        max(ledger.__sequence) as __ledger_sequence
    from (
        select {{ lakemerge_one_task_hint(join) }} * from lakemerge_ledger
    ) as ledger
    left semi join latest
        on {{ lakemerge_keys_equal_sql(merge, 'ledger', 'latest') }}
    group by {{ lakemerge_keys_sql(merge, 'ledger') }}
),
{% endif %}
compared as (
    select {{ lakemerge_join_hint(join, small) }}
        latest.*,
        {{ 'coalesce(matched.__stored_rows, 0)' if merge.exists else '0' }} as __stored_rows,
        {{ 'matched.__partitions' if merge.exists else 'array()' }} as __partitions,
        {{ 'matched.__stored_row' if merge.needs_stored_row else 'if(false, latest.__row, null)' }} as __stored_row,
        {{ lakemerge_known_sequence_sql(merge, has_ledger) }} as __known_sequence,
        {{ '(' ~ lakemerge_horizon_sql(merge, has_ledger, join) ~ ')' if merge.truncates != 'false' or has_ledger else 'if(false, latest.__sequence, null)' }} as __horizon
    from latest
    {%- if merge.exists %}
    left join matched
        on {{ lakemerge_keys_equal_sql(merge, 'latest', 'matched') }}
    {%- endif %}
    {%- if has_ledger %}
    left join remembered
        on {{ lakemerge_keys_equal_sql(merge, 'latest', 'remembered') }}
    {%- endif %}
),

applied as (
    select
        *,
        {{ lakemerge_new_row_sql(merge) }} as __new_row
    from compared
)

select
    {{ lakemerge_keys_sql(merge) }},
    __sequence,
    __is_delete,
    __row,
    __new_row,
    __partitions,
    {{ lakemerge_action_sql(merge) }} as __action
from applied
{%- endmacro -%}
