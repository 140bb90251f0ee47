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
        `_lakemerge_deleted` as `__deleted`,
        {{ lakemerge_partition_sql(partitions) }} as `__place`
    from ({{ lakemerge_folded_deltas_sql(txn) }})
),
base as (
    select {{ keys }}, collect_set({{ lakemerge_partition_sql(partitions) }}) as `__places`
    from {{ txn.base_table }} as base
    left semi join newest on {{ keys_equal }}
    group by {{ keys }}
),
changes as (
    select
        newest.`__deleted`,
        newest.`__place`,
        filter(
            coalesce(base.`__places`, array()),
            place -> newest.`__deleted` or place != newest.`__place`
        ) as `__left_behind`
    from newest
    left join base on {{ keys_equal }}
)
select `__part`.place as partition_text, sum(`__part`.ends) as ends
from (
    select explode(concat(
        transform(`__left_behind`, place -> named_struct('place', place, 'ends', 1)),
        if(
            `__deleted`,
            array(),
            array(named_struct('place', `__place`, 'ends', if(size(`__left_behind`) = 0, 1, 0)))
        )
    )) as `__part`
    from changes
)
group by `__part`.place
{%- endmacro -%}
