{#
    Whether the table's files can hold a value that has its type already, including everything nested in it, so that
    it is read back unchanged.

    Args:
        type: a ValueType.
        value: SQL of the value; null where it is null.
        options: the model's IngestOptions.
        depth: how deep in the record it is, for names of its own.
#}
{%- macro lakemerge_held_sql(type, value, options, depth=1) -%}
    {%- set item = 'held_' ~ depth -%}
    {%- if not type.has_times -%}
        true
    {%- elif type.kind == 'date' -%}
        ({{ value }} is null or {{ options.times.date_sql(value) }})
    {%- elif type.kind == 'timestamp' -%}
        ({{ value }} is null or {{ options.times.timestamp_sql(value) }})
    {%- elif type.kind == 'array' -%}
        ({{ value }} is null or forall({{ value }}, {{ item }} -> {{ lakemerge_held_sql(type.element, item, options, depth + 1) }}))
    {%- elif type.kind == 'map' -%}
        ({{ value }} is null or (
            forall(map_keys({{ value }}), {{ item }} -> {{ lakemerge_held_sql(type.key, item, options, depth + 1) }})
            and forall(map_values({{ value }}), {{ item }} -> {{ lakemerge_held_sql(type.element, item, options, depth + 1) }})
        ))
    {%- else -%}
        ({%- for name, member in type.members -%}
            {{ lakemerge_held_sql(member, value ~ '.' ~ adapter.quote(name), options, depth) }}{{ ' and ' if not loop.last }}
        {%- endfor -%})
    {%- endif -%}
{%- endmacro -%}
