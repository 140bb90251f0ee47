{#
    One row that counts the pairs of `lakemerge_version_pairs_sql`: inserted, updated, deleted, and for each column
    `updated.<name>`, the updated rows in which it differs.

    Args:
        comparison: the Comparison.
        pairs: a view of the pairs.
#}
{%- macro lakemerge_version_counts_sql(comparison, pairs) -%}
select
    count_if(pre is null) as inserted,
    count_if(pre is not null and post is not null) as updated,
    count_if(post is null) as deleted
    {%- if comparison.keys %}
    {%- for column in comparison.columns if column.name not in comparison.keys %},
    count_if(
        pre is not null and post is not null and not ({{ column.of('pre') }} <=> {{ column.of('post') }})
    ) as {{ adapter.quote('updated.' ~ column.name) }}
    {%- endfor %}
    {%- endif %}
from {{ pairs }}
{%- endmacro -%}
