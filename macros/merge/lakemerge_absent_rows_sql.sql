{# The stored rows that go although no change names their keys: those of a full sync, or those that a truncate ends. #}
{%- macro lakemerge_absent_rows_sql(merge, has_ledger) -%}
select
    count(*) as row_count,
    collect_set({{ lakemerge_partition_sql(merge.partitions, 'stored') }}) as partitions
from (
    {{ lakemerge_dated_rows_sql(merge, 'true', has_ledger) | indent(4) }}
) as stored
left anti join lakemerge_latest as latest
    on {% for key in merge.keys %}stored.{{ key.quoted }} = latest.__key_{{ loop.index }}{{ ' and ' if not loop.last }}{% endfor %}
{%- if not merge.syncs %}
where not coalesce(stored.__stored_sequence > ({{ lakemerge_horizon_sql(merge, has_ledger) }}), false)
{%- endif %}
{%- endmacro -%}
