{#
    All known events of the keys in question: the feed's changes, and the changes behind the stored versions.

    Columns: __key_1…, __sequence, __is_delete, __row, __source, __is_watermark (changes before it may have been
    forgotten), __stored (the version that this change began, as it is stored), and __from (of __source 5).

    By __source: 1 the ledger, which has each change as it arrived; 2 the beginning of a stored version; 3 the end of
    one, which is a delete unless another version begins there, or a truncate is known there; 4 the feed; 5 no event: a
    statement has settled what happened from __from (null: the key's beginning) up to __sequence.
#}
{%- macro lakemerge_scd2_events_sql(scd2, matched, remembered) -%}
{%- set keys = lakemerge_keys_sql(scd2.merge) -%}
{%- set stored_type = 'struct<__start: ' ~ scd2.start_at.type ~ ', __end: ' ~ scd2.start_at.type ~ ', __row: ' ~ scd2.row_type ~ ', __known: bigint, __partition: string>' -%}
select
    {{ keys }},
    __sequence,
    __is_delete,
    __row,
    4 as __source,
    false as __is_watermark,
    cast(null as {{ stored_type }}) as __stored,
    cast(null as {{ scd2.start_at.type }}) as __from
from lakemerge_changes
where not __is_truncate
{%- if scd2.exists %}
union all
select
    {{ keys }},
    event.*,
    cast(null as {{ scd2.start_at.type }}) as __from
from (
    {{ matched | indent(4) }}
) as stored
lateral view inline(array(
    struct(
        __start as __sequence,
        false as __is_delete,
        __row as __row,
        2 as __source,
        false as __is_watermark,
        cast(struct(__start, __end, __row, __known, __partition) as {{ stored_type }}) as __stored
    ),
    struct(
        __end as __sequence,
        true as __is_delete,
        cast(null as {{ scd2.row_type }}) as __row,
        3 as __source,
        false as __is_watermark,
        cast(null as {{ stored_type }}) as __stored
    )
)) event
where event.__sequence is not null
{%- endif %}
{%- if remembered %}
union all
select
    {{ keys }},
    __sequence,
    {#- a watermark without a row was in a version that a statement has deleted #}
    __row is null or __kind = 'delete' as __is_delete,
    __row,
    if(__kind = 'settled', 5, 1) as __source,
    __kind = 'watermark' as __is_watermark,
    cast(null as {{ stored_type }}) as __stored,
    __from
from (
    {{ remembered | indent(4) }}
)
{%- endif %}
{%- endmacro -%}
