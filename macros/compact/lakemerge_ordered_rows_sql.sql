{#
    The rows of a compaction's groups in the requested order: each group in as many ranges as it gets files, sorted
    within each range.

    Args:
        order: the Ordering: its columns, and whether their bits are interleaved.
        parts: for each group, the `condition` that chooses its rows, and its number of `files`.
#}
{%- macro lakemerge_ordered_rows_sql(txn, order, parts) -%}
    {%- set sorted_by = ['`_lakemerge_zorder`'] if order.zorder else [] -%}
    {%- if not order.zorder -%}
        {%- for name in order.columns -%}{%- do sorted_by.append(adapter.quote(name)) -%}{%- endfor -%}
    {%- endif -%}
    {%- for part in parts -%}
select{% for column in txn.plan.columns %} {{ column.quoted }}{{ ',' if not loop.last }}{% endfor %}
from (
    select /*+ repartition_by_range({{ part.files }}, {{ sorted_by | join(', ') }}) */ *
    from (
        {{ (lakemerge_zordered_rows_sql(txn, order.columns, part.condition) if order.zorder
            else lakemerge_part_rows_sql(txn, part.condition)) | indent(8) }}
    )
    sort by {{ sorted_by | join(', ') }}
)
        {%- if not loop.last %}
union all
{% endif -%}
    {%- endfor -%}
{%- endmacro -%}
