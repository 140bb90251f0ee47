{#
    What `lakemerge_deltas_to_fold` holds that the base will still lack, once all partitions but some are written again:
    the newest row of each key whose row lies in one of these partitions, or comes into one.

    Args:
        left: names of the partitions that are not written again.
#}
{%- macro lakemerge_left_deltas_sql(txn, left) -%}
{%- set is_left = txn.partitions.filter(left, exact=true) -%}
{%- set comes = 'not `_lakemerge_deleted` and coalesce(' ~ is_left ~ ', false)' -%}
with newest as (
    {{ lakemerge_folded_deltas_sql(txn) }}
),
base as (
    select {{ lakemerge_overlay_keys_sql(txn) }}
    from (select * from {{ txn.base_table }} where {{ is_left }}) as base
    left semi join newest on {{ lakemerge_overlay_keys_equal_sql(txn, 'base', 'newest') }}
)
select * from newest where {{ comes }}
union all
select * from (select * from newest where not ({{ comes }})) as newest
left semi join base on {{ lakemerge_overlay_keys_equal_sql(txn, 'newest', 'base') }}
{%- endmacro -%}
