{#
    Stored rows of some partitions with `_lakemerge_zorder`, which is close for rows that are close in all of the columns.

    A sample's values are divided into 256 parts; a value's rank, from 0 to 255, is the number of the part that it falls
    into, and nulls come first. The ranks' bits are interleaved, the highest first. So values of any distribution, and
    of any type that has an order, have the same weight. The sample is drawn with a fixed seed, so that a task which
    runs again gives the same rows.
#}
{%- macro lakemerge_zordered_rows_sql(txn, columns, condition) -%}
    {%- set steps = 'array(128, 64, 32, 16, 8, 4, 2, 1)' -%}
    {%- set terms = [] -%}
    {%- for bit in range(8) -%}
        {%- for name in columns -%}
            {%- set place = bit * (columns | length) + (columns | length) - loop.index -%}
            {%- do terms.append('shiftleft(cast(shiftright(`_lakemerge_rank_' ~ loop.index ~ '`, ' ~ bit ~ ') & 1 as bigint), ' ~ place ~ ')') -%}
        {%- endfor -%}
    {%- endfor -%}
select *, {{ terms | join(' | ') }} as `_lakemerge_zorder`
from (
    select
        stored.*,
        {%- for name in columns %}
        aggregate({{ steps }}, 0, (found, step) -> if(stored.{{ adapter.quote(name) }} > `_lakemerge_bounds_{{ loop.index }}`[found + step - 1], found + step, found)) as `_lakemerge_rank_{{ loop.index }}`{{ ',' if not loop.last }}
        {%- endfor %}
    from (
        {{ lakemerge_part_rows_sql(txn, condition) | indent(8) }}
    ) as stored
    cross join (
        select
            {%- for name in columns %}
            transform(sequence(1, 255), part -> `_lakemerge_values_{{ loop.index }}`[cast(floor(part * size(`_lakemerge_values_{{ loop.index }}`) / 256) as int)]) as `_lakemerge_bounds_{{ loop.index }}`{{ ',' if not loop.last }}
            {%- endfor %}
        from (
            select
                {%- for name in columns %}
                array_sort(collect_list({{ adapter.quote(name) }})) as `_lakemerge_values_{{ loop.index }}`{{ ',' if not loop.last }}
                {%- endfor %}
            from (
                select {% for name in columns %}{{ adapter.quote(name) }}{{ ', ' if not loop.last }}{% endfor %}
                from {{ txn.base_table }}
                where {{ condition }}
                order by rand(7)
                limit 20000
            )
        )
    ) as bounds
)
{%- endmacro -%}
