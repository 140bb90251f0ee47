{#
    The events of the keys in question, numbered within their sequence; only the first of a sequence counts.

    Columns besides those of the events: __hash, __gist (a hash of the tracked columns alone), __truncates (all
    truncates' sequences), __settled (what statements have settled of the key: ranges of sequences), __place, __began (the stored version that began with the sequence), __told (__hash and __gist
    of what the feed says for that sequence), __first (the sequence from which on the history is in question),
    __watermark (up to where changes of the key may have been forgotten), __truncated (the next truncate).
#}
{%- macro lakemerge_scd2_placed_events_sql(scd2, matched, remembered, truncates) -%}
{%- set keys = lakemerge_keys_sql(scd2.merge) -%}
with events as (
    {{ lakemerge_scd2_events_sql(scd2, matched, remembered) | indent(4) }}
),

hashed as (
    select /*+ repartition({{ keys }}) */
        *,
        {{ lakemerge_change_hash_sql(scd2.merge.values) }} as __hash,
        {{ lakemerge_change_hash_sql(scd2.tracked) }} as __gist
    from events
),

dated as (
    select
        hashed.*,
        {{ 'truncates.__sequences' if truncates else 'cast(array() as array<' ~ scd2.start_at.type ~ '>)' }} as __truncates
    from hashed
    {%- if truncates %}
    cross join (
        {{ lakemerge_scd2_truncates_sql(remembered is not none) | indent(8) }}
    ) as truncates
    where not (hashed.__source = 3 and array_contains(truncates.__sequences, hashed.__sequence))
    {%- endif %}
)

select
    *,
    collect_list(if(__source = 5, struct(__from, __sequence as __to), null)) over (partition by {{ keys }}) as __settled,
    row_number() over (partition by {{ keys }}, __sequence order by __source) as __place,
    first_value(__stored, true) over (partition by {{ keys }}, __sequence order by __source rows between unbounded preceding and unbounded following) as __began,
    max(if(__source = 4, struct(__hash, __gist), null)) over (partition by {{ keys }}, __sequence) as __told,
    min(if(__source in (1, 5), null, __sequence)) over (partition by {{ keys }}) as __first,
    max(if(__is_watermark, __sequence, null)) over (partition by {{ keys }}) as __watermark,
    array_min(filter(__truncates, truncated -> truncated >= __sequence)) as __truncated
from dated
{%- endmacro -%}
