{#
    The stored rows that are removed without a change in their place: in a full sync, rows whose keys the feed lacks;
    otherwise rows that a truncate ends. Their keys may be in the feed, since a change older than the truncate is void.
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
where not coalesce(stored._lakemerge_stored_sequence > ({{ lakemerge_horizon_sql(merge, has_ledger) }}), false)
{%- endif %}
{%- endmacro -%}
