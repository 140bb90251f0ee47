{#
    The log of compactions as a query, for a model that calls `lakemerge_compactions_sql('events')`. Its rows are those at
    the time of the run.

    Args:
        select: as in `lakemerge_compact`.
        limit: how many compactions of each table.
#}
{%- macro lakemerge_compactions_sql(select='*', limit=100) -%}
    {%- set types = {
        'table': 'string', 'id': 'string', 'action': 'string', 'state': 'string', 'reason': 'string',
        'requested_at': 'timestamp', 'started_at': 'timestamp', 'ended_at': 'timestamp', 'seconds': 'double', 'groups': 'bigint',
        'done': 'bigint', 'left': 'bigint', 'files_before': 'bigint', 'files_after': 'bigint',
        'bytes_before': 'bigint', 'bytes_after': 'bigint', 'rows': 'bigint', 'error': 'string', 'versions': 'string',
        'order': 'string', 'by': 'string', 'invocation_id': 'string',
    } -%}
    {%- set names = {'table': 'table_name', 'order': 'sorted_by', 'by': 'requested_by'} -%}
    {%- set records = [] -%}
    {%- if execute -%}
        {%- for chosen in lakemerge_selected_tables(select) -%}
            {%- do records.extend(adapter.compaction.log(chosen.relation, limit)) -%}
        {%- endfor -%}
    {%- endif -%}
{#- a list of values, not a union: Spark nests the branches of a union, and runs out of stack #}
select
    {%- for name, kind in types.items() %}
    cast({{ adapter.quote(name) }} as {{ kind }}) as {{ adapter.quote(names.get(name, name)) }}{{ ',' if not loop.last }}
    {%- endfor %}
from values
    ({{ (['cast(null as string)'] * (types | length)) | join(', ') }})
    {%- for record in records -%}
        {%- set cells = [] -%}
        {%- for name in types -%}
            {%- set value = record[name] | join(', ') if name in ('versions', 'order') else record[name] -%}
            {%- do cells.append(adapter.string_literal(value | string) if value not in (none, '') else 'null') -%}
        {%- endfor -%}
    ,
    ({{ cells | join(', ') }})
    {%- endfor %}
    as records({% for name in types %}{{ adapter.quote(name) }}{{ ', ' if not loop.last }}{% endfor %})
where id is not null
{%- endmacro -%}
