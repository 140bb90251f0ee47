{#
    The changes that Debezium's events describe, as a feed for a merge: the row's columns, and `__op`, `__sequence_1`…

    Nested events are as a connector writes them: `before` and `after`, `op` (c, u, d, r, t), `source`. Flattened
    ones come from ExtractNewRecordState with `add.fields=op,source.ts_ms` and deletes rewritten: the row's columns, `__op`,
    `__deleted`, `__source_ts_ms`.

    Args:
        relation: the ingested events.
        columns: names of the row's columns.
        form: `nested` or `flattened`.
        sequence: SQL of the events' order; by default their time in the source, and the log's position for nested ones.
#}
{%- macro lakemerge_debezium_changes(relation, columns, form='nested', sequence=none) -%}
    {%- set operation = 'op' if form == 'nested' else "if(cast(__deleted as string) = 'true', 'd', __op)" -%}
    {%- set ordered = sequence or (['source.ts_ms', 'source.lsn'] if form == 'nested' else ['__source_ts_ms']) -%}
select
    {%- for column in columns %}
    {%- set name = adapter.quote(column) %}
    {{ 'if(op = \'d\', before.' ~ name ~ ', after.' ~ name ~ ')' if form == 'nested' else name }} as {{ name }},
    {%- endfor %}
    {%- for part in ordered %}
    {{ part }} as `__sequence_{{ loop.index }}`,
    {%- endfor %}
    {{ operation }} as `__op`
from {{ relation }}
{%- endmacro -%}
