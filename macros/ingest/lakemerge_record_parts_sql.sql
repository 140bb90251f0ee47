{#
    The records of a view, split into fields by the declared format alone. Columns besides those of the view:
    `_lakemerge_tokens` (texts by position) or `_lakemerge_fields` (JSON values by name); `_lakemerge_plain`, whether the record has no quotes
    or escapes; `_lakemerge_well_formed`, whether it keeps the format's rules.

    Args:
        plan: how records become rows: an IngestPlan.
        group: files or records that are read the same way: a RecordGroup.
#}
{%- macro lakemerge_record_parts_sql(plan, group) -%}
    {%- set text = plan.text_sql -%}
    {%- if group.format == 'delimited' -%}
        {{ lakemerge_delimited_parts_sql(plan.options, group, text) }}
    {%- elif group.format == 'json' -%}
        {{ lakemerge_json_parts_sql(group, text) }}
    {%- elif group.format == 'regex' -%}
select
    *,
    if(_lakemerge_well_formed, {{ _lakemerge_groups_sql(plan.pattern_sql, group.size, text) }}, null) as _lakemerge_tokens
from (
    select *, {{ text }} rlike {{ plan.pattern_sql }} as _lakemerge_well_formed from {{ group.view }}
)
    {%- else -%}
select * from {{ group.view }}
    {%- endif -%}
{%- endmacro -%}

{#
    The texts of a pattern's groups. The pattern is matched once for all groups: their texts are written with a NUL
    between each two, and the whole is split. Only a record that contains a NUL is matched again for each group.
#}
{%- macro _lakemerge_groups_sql(pattern, size, text) -%}
    {%- set groups = [] -%}
    {%- for number in range(1, size + 1) -%}{%- do groups.append('$' ~ number) -%}{%- endfor -%}
    if(
        contains({{ text }}, '\0'),
        transform(sequence(1, {{ size }}), number -> regexp_extract({{ text }}, {{ pattern }}, number)),
        split(regexp_replace({{ text }}, {{ pattern }}, '{{ groups | join('\\0') }}'), '\0', -1)
    )
{%- endmacro -%}
