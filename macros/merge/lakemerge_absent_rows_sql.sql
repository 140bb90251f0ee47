{#
    The stored rows that go although no change takes their places: of a full sync those whose keys it lacks; else those
    that a truncate ends, be their keys in the feed or not, for a change that is older than the truncate says nothing.
#}
{%- macro lakemerge_absent_rows_sql(merge, has_ledger) -%}
select
    count(*) as row_count,
    collect_set({{ lakemerge_partition_sql(merge.partitions, 'stored') }}) as partitions
from (
    {{ lakemerge_dated_rows_sql(merge, 'true', has_ledger) | indent(4) }}
) as stored
left anti join (
    select {{ lakemerge_keys_sql(merge) }} from lakemerge_resolved
    {{ "where __action in ('insert', 'update', 'delete')" if not merge.syncs }}
) as changes
    on {% for key in merge.keys %}stored.{{ key.quoted }} = changes.__key_{{ loop.index }}{{ ' and ' if not loop.last }}{% endfor %}
{%- if not merge.syncs %}
where not coalesce(stored.__stored_sequence > ({{ lakemerge_horizon_sql(merge, has_ledger) }}), false)
{%- endif %}
{%- endmacro -%}
