{#
    The stored versions that the feed's changes may affect, in the columns of `lakemerge_scd2_stored_sql`: versions
    of its keys that are open or end at or after the key's first change. Closed partitions are read for late keys
    only (the view `lakemerge_late`) and filtered by their ends, so that statistics exclude files of older rows. A
    truncate affects every key: everything from the truncate on is read.

    Args:
        late: whether there are late keys.
        truncates: whether the feed has truncates.
#}
{%- macro lakemerge_scd2_matched_sql(scd2, scan, broadcast, late, truncates) -%}
{%- set end_at = scd2.end_at.quoted -%}
{%- if truncates -%}
{{ lakemerge_scd2_stored_sql(scd2, '(' ~ end_at ~ ' is null or ' ~ end_at ~ ' >= (select min(__sequence) from lakemerge_changes))') }}
{%- else -%}
select {{ '/*+ broadcast(touched) */' if broadcast }} stored.*
from (
    {{ lakemerge_scd2_stored_sql(scd2, scan.open_filter) | indent(4) }}
) as stored
inner join (
    {{ lakemerge_scd2_touched_keys_sql(scd2) | indent(4) }}
) as touched
    on {{ lakemerge_keys_equal_sql(scd2.merge, 'stored', 'touched') }}
        and (stored.__end is null or stored.__end >= touched.__from)
{%- if late %}
union all
select {{ '/*+ broadcast(late) */' if broadcast }} stored.*
from (
    {{ lakemerge_scd2_stored_sql(scd2, scan.closed_filter ~ ' and ' ~ end_at ~ ' >= (select min(__from) from lakemerge_late)') | indent(4) }}
) as stored
inner join lakemerge_late as late
    on {{ lakemerge_keys_equal_sql(scd2.merge, 'stored', 'late') }} and stored.__end >= late.__from
{%- endif %}
{%- endif %}
{%- endmacro -%}
