{#
    The log of compactions as a query, for a model: `{{ '{{' }} lakemerge_compactions_sql('events') {{ '}}' }}`. Its rows are those at the time
    of the run.

    Args:
        select: as of `lakemerge_compact`.
        limit: how many of each table.
#}
{%- macro lakemerge_compactions_sql(select='*', limit=100) -%}
    {%- set types = {
        'table': 'string', 'id': 'string', 'action': 'string', 'state': 'string', 'reason': 'string',
        'requested_at': 'timestamp', 'started_at': 'timestamp', 'ended_at': 'timestamp', 'seconds': 'double', 'groups': 'bigint',
        'done': 'bigint', 'left': 'bigint', 'files_before': 'bigint', 'files_after': 'bigint',
        'bytes_before': 'bigint', 'bytes_after': 'bigint', 'rows': 'bigint', 'error': 'string',
    } -%}
    {%- set records = [] -%}
    {%- if execute -%}
        {%- for chosen in lakemerge_selected_tables(select) -%}
            {%- do records.extend(adapter.compaction.log(chosen.relation, limit)) -%}
        {%- endfor -%}
    {%- endif -%}
select
    {%- for name, kind in types.items() %}
    cast(null as {{ kind }}) as `{{ 'table_name' if name == 'table' else name }}`,
    {%- endfor %}
    cast(null as string) as requested_by
where false
    {%- for record in records %}
union all
select
        {%- for name, kind in types.items() %}
    cast({{ adapter.string_literal(record[name] | string) if record[name] is not none and record[name] != '' else 'null' }} as {{ kind }}) as `{{ 'table_name' if name == 'table' else name }}`,
        {%- endfor %}
    {{ adapter.string_literal(record.requested_by.get('node') or record.requested_by.get('agent', '')) }} as requested_by
    {%- endfor %}
{%- endmacro -%}
