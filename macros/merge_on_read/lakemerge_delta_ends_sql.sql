{#
    The partitions that `lakemerge_deltas_to_fold` changes, for a commit that does not write all of them again. Columns:
    partition_text, for `Partitions.names_of`; ends, the number of keys that no longer need this partition once it is
    written: keys whose rows leave it, and keys whose rows come into it and are nowhere else.
#}
{%- macro lakemerge_delta_ends_sql(txn) -%}
{%- set partitions = txn.plan.columns | selectattr('is_partition') | list -%}
{%- set keys = lakemerge_overlay_keys_sql(txn) -%}
{%- set keys_equal = lakemerge_overlay_keys_equal_sql(txn, 'base', 'newest') -%}
with newest as (
    select
        {{ keys }},
        `_lakemerge_deleted` as `_lakemerge_deleted`,
        {{ lakemerge_partition_sql(partitions) }} as `_lakemerge_place`
    from ({{ lakemerge_folded_deltas_sql(txn) }})
),
base as (
    select {{ keys }}, collect_set({{ lakemerge_partition_sql(partitions) }}) as `_lakemerge_places`
    from {{ txn.base_table }} as base
    left semi join newest on {{ keys_equal }}
    group by {{ keys }}
),
changes as (
    select
        newest.`_lakemerge_deleted`,
        newest.`_lakemerge_place`,
        filter(
            coalesce(base.`_lakemerge_places`, array()),
            place -> newest.`_lakemerge_deleted` or place != newest.`_lakemerge_place`
        ) as `_lakemerge_left_behind`
    from newest
    left join base on {{ keys_equal }}
)
select `_lakemerge_part`.place as partition_text, sum(`_lakemerge_part`.ends) as ends
from (
    select explode(concat(
        transform(`_lakemerge_left_behind`, place -> named_struct('place', place, 'ends', 1)),
        if(
            `_lakemerge_deleted`,
            array(),
            array(named_struct('place', `_lakemerge_place`, 'ends', if(size(`_lakemerge_left_behind`) = 0, 1, 0)))
        )
    )) as `_lakemerge_part`
    from changes
)
group by `_lakemerge_part`.place
{%- endmacro -%}
