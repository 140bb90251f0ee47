{# The records that break a rule, in the quarantine's columns, each with its problems; see `side_tables.py`. #}
{%- macro lakemerge_rejected_records_sql(plan) -%}
select
    record,
    record_bytes,
    file,
    line,
    problems[0].reason as reason,
    problems[0].column_name as column_name,
    problems[0].reason_text as reason_text,
    problems,
    fields,
    file_modified,
    batch,
    quarantined_at,
    replays
from (
    {%- for group in plan.groups %}
    select
        {{ 'to_json(_lakemerge_row)' if group.is_typed else plan.record_sql }} as record,
        {{ 'cast(null as binary)' if group.is_typed else plan.record_bytes_sql }} as record_bytes,
        _lakemerge_file as file,
        _lakemerge_line as line,
        {{ lakemerge_record_problems_sql(plan, group) | indent(8) }} as problems,
        {{ group.fields_sql }} as fields,
        _lakemerge_file_modified as file_modified,
        _lakemerge_batch as batch,
        _lakemerge_ingested_at as quarantined_at,
        _lakemerge_replays as replays
    from (
        select
            *
            {%- if group.format == 'json' %},
            from_json({{ lakemerge_json_quoted_sql(group, plan.text_sql, '\\ue000') }}, 'map<string,string>') as _lakemerge_written
            {%- endif %}
        from (
            {{ lakemerge_checked_records_sql(plan, group) | indent(12) }}
        )
        where not _lakemerge_ok
    )
    {{ 'union all' if not loop.last }}
    {%- endfor %}
)
{%- endmacro -%}
