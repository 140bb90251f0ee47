{#
    What a statement on a history settles: of each version that it deletes or changes, the changes that are known to lie
    in it; of a key that keeps no version, all that are known.

    Columns: __key_1…, __from (null: the key's beginning) and __sequence: the first and the last change that is settled;
    __until: where the version ends (null: nowhere), __row: of the version as it is now (null where it is deleted).

    Args:
        forgotten: a view of keys that keep no version, even if they had none; or none.
#}
{%- macro lakemerge_settled_versions_sql(scd2, has_ledger, forgotten=none) -%}
{%- set keys = lakemerge_keys_sql(scd2.merge) -%}
with versions as (
    select *
    from lakemerge_changed
    where __stands
),

deleted as (
    select {{ keys }}, count(*) as __versions, max(coalesce(__end, __start)) as __last
    from versions
    where __action = 'delete'
    group by {{ keys }}
),

stored as (
    select {{ keys }}, count(*) as __versions
    from (
        {{ lakemerge_scd2_stored_sql(scd2, 'true') | indent(8) }}
    )
    group by {{ keys }}
),

ended as (
    select deleted.*
    from deleted
    inner join stored
        on {{ lakemerge_keys_equal_sql(scd2.merge, 'deleted', 'stored') }} and deleted.__versions = stored.__versions
    {%- if forgotten and has_ledger %}
    union all
    select {{ lakemerge_keys_sql(scd2.merge, 'forgotten') }}, 0 as __versions, cast(null as {{ scd2.start_at.type }}) as __last
    from {{ forgotten }} as forgotten
    left anti join stored
        on {{ lakemerge_keys_equal_sql(scd2.merge, 'forgotten', 'stored') }}
    left semi join lakemerge_ledger as remembered
        on {{ lakemerge_keys_equal_sql(scd2.merge, 'forgotten', 'remembered') }} and remembered.__kind <> 'settled'
    {%- endif %}
),

{% if has_ledger -%}
known as (
    select {{ keys }}, max(__sequence) as __last
    from lakemerge_ledger
    where __kind <> 'truncate'
    group by {{ keys }}
),

{% endif -%}
settled as (
    select
        {{ keys }},
        cast(null as {{ scd2.start_at.type }}) as __from,
        __last,
        false as __is_closed,
        cast(null as {{ scd2.start_at.type }}) as __until,
        cast(null as {{ scd2.row_type }}) as __row
    from ended
    union all
    select
        {{ lakemerge_keys_sql(scd2.merge, 'versions') }},
        __start as __from,
        coalesce(__end, __start) as __last,
        __end is not null as __is_closed,
        __end as __until,
        if(
            __action = 'delete',
            null,
            cast(
                struct(
                    {%- for column in scd2.merge.columns %}
                    __new_row.{{ column.quoted }}{{ ',' if not loop.last }}
                    {%- endfor %}
                ) as {{ scd2.row_type }}
            )
        ) as __row
    from versions
    left anti join ended
        on {{ lakemerge_keys_equal_sql(scd2.merge, 'versions', 'ended') }}
)

select
    {{ lakemerge_keys_sql(scd2.merge, 'settled') }},
    settled.__from,
    settled.__until,
    settled.__row,
    {{ 'if(settled.__is_closed, settled.__last, greatest(settled.__last, known.__last))' if has_ledger else 'settled.__last' }} as __sequence
from settled
{%- if has_ledger %}
left join known
    on {{ lakemerge_keys_equal_sql(scd2.merge, 'settled', 'known') }}
{%- endif %}
{%- endmacro -%}
