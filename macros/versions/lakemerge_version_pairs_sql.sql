{#
    The rows that two versions do not both have, each copy of a row counted. Columns: pre, the row as the older version
    has it, and post, as the newer one; one of them is null, unless both have a row of this key.

    Args:
        comparison: the Comparison.
        older, newer: views of the rows that may differ, in the same columns.
#}
{%- macro lakemerge_version_pairs_sql(comparison, older, newer) -%}
{%- set columns = comparison.columns -%}
{%- set keys = columns | selectattr('name', 'in', comparison.keys) | list -%}
{%- set names = columns | map(attribute='quoted') | join(', ') -%}
{%- set same -%}
    {%- if comparison.is_comparable -%}
    side_row
    {%- else -%}
    struct({% for column in columns %}{{ column.of('side_row') }}{{ ', ' if not loop.last }}{% endfor %})
    {%- endif -%}
{%- endset -%}
with sides as (
    select struct({{ names }}) as side_row, -1 as side from {{ older }}
    union all
    select struct({{ names }}) as side_row, 1 as side from {{ newer }}
),
differing as (
    select any_value(side_row) as side_row, sum(side) as net
    from sides
    group by {{ same }}
    having sum(side) <> 0
),
copies as (
    select side_row, net < 0 as is_older, explode(sequence(1, cast(abs(net) as int))) as copy
    from differing
)
{%- if keys %},
numbered as (
    select
        side_row,
        is_older,
        row_number() over (
            partition by is_older, {% for key in keys %}{{ key.of('side_row') }}{{ ', ' if not loop.last }}{% endfor %}
            order by copy
        ) as place
    from copies
)
select
    any_value(if(is_older, side_row, null), true) as pre,
    any_value(if(is_older, null, side_row), true) as post
from numbered
group by place, {% for key in keys %}{{ key.of('side_row') }}{{ ', ' if not loop.last }}{% endfor %}
{%- else %}
select if(is_older, side_row, null) as pre, if(is_older, null, side_row) as post
from copies
{%- endif %}
{%- endmacro -%}
