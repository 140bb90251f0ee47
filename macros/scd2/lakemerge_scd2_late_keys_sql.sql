{#
    The keys whose changes may belong between closed versions: those with changes older than the key's open version,
    and those of keys without an open version, which may have been deleted later.
#}
{%- macro lakemerge_scd2_late_keys_sql(scd2, scan, broadcast) -%}
with touched as (
    {{ lakemerge_scd2_touched_keys_sql(scd2) | indent(4) }}
),

current as (
    select {{ '/*+ broadcast(touched) */' if broadcast }}
        {{ lakemerge_keys_sql(scd2.merge, 'touched') }},
        max(stored.__start) as __open_since
    from (
        {{ lakemerge_scd2_stored_sql(scd2, scan.open_filter) | indent(8) }}
    ) as stored
    inner join touched
        on {{ lakemerge_keys_equal_sql(scd2.merge, 'stored', 'touched') }}
    where stored.__end is null
    group by {{ lakemerge_keys_sql(scd2.merge, 'touched') }}
)

select touched.*
from touched
left join current
    on {{ lakemerge_keys_equal_sql(scd2.merge, 'touched', 'current') }}
where current.__open_since is null or touched.__from < current.__open_since
{%- endmacro -%}
