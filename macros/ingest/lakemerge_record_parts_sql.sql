{#
    The records of a view, taken apart into their fields by the declared format alone.

    Columns besides those of the view: `__tokens` (texts by position) or `__fields` (JSON values by name); `__plain`,
    whether no quote or escape stands in the record; `__well_formed`, whether it keeps the format's rules.

    Args:
        plan: how records become rows: an IngestPlan.
        group: the files or records that are read alike: a RecordGroup.
#}
{%- macro lakemerge_record_parts_sql(plan, group) -%}
    {%- set text = plan.text_sql -%}
    {%- if group.format == 'delimited' -%}
        {{ _lakemerge_delimited_parts_sql(plan.options, group, text) }}
    {%- elif group.format == 'json' -%}
        {{ _lakemerge_json_parts_sql(group, text) }}
    {%- elif group.format == 'regex' -%}
select
    *,
    if(__well_formed, {{ _lakemerge_groups_sql(plan.pattern_sql, group.size, text) }}, null) as __tokens
from (
    select *, {{ text }} rlike {{ plan.pattern_sql }} as __well_formed from {{ group.view }}
)
    {%- else -%}
select * from {{ group.view }}
    {%- endif -%}
{%- endmacro -%}

{#
    A JSON record: `__plain`, whether all of it can be a variant, which an object with a name twice cannot be. Else its
    fields are taken one by one, so that what is wrong in one that nobody asked for does no harm; null are those that
    cannot be a variant. Of many declared fields also `__values`, a struct of them. And `__numbers`, where a number is
    written in a way that variants do not keep.
#}
{%- macro _lakemerge_json_parts_sql(group, text) -%}
select
    *,
    if(__plain, __objects[0], {{ _lakemerge_json_fields_sql(group, text) }}) as __fields
    {%- if group.has_many_fields %},
    get({{ _lakemerge_parsed_sql(text, group.variants_type) }}, 0) as __values
    {%- endif %}
    {%- if group.numbers_type %},
    if({{ text }} rlike {{ adapter.string_literal(group.odd_number_pattern) }}, {{ _lakemerge_parsed_sql(lakemerge_json_quoted_sql(group, text), group.numbers_type) }}[0], null) as __numbers
    {%- endif %}
from (
    select *, coalesce(size(__objects) = 1, false) as __plain
    from (
        select *, {{ _lakemerge_parsed_sql(text, 'map<string,variant>') }} as __objects from {{ group.view }}
    )
)
{%- endmacro -%}

{# An array of the JSON values in a text: an array is put around it, for a parser stops after the first value. #}
{%- macro _lakemerge_parsed_sql(text, type) -%}
    from_json(concat('[', {{ text }}, ']'), {{ adapter.string_literal('array<' ~ type ~ '>') }}, map('allowSingleQuotes', 'false', 'allowNonNumericNumbers', 'false'))
{%- endmacro -%}

{# The fields of a record that cannot be a variant as a whole; null where it is not one object. #}
{%- macro _lakemerge_json_fields_sql(group, text) -%}
    {%- set texts = _lakemerge_parsed_sql(text, 'map<string,string>') -%}
    {%- set variants = 'coalesce(' ~ _lakemerge_parsed_sql(text, group.variants_type) ~ ', array(null))' -%}
    if(size({{ texts }}) = 1, transform(
        transform({{ variants }}, found -> {{ group.variants_sql('found') }}),
        variants -> transform_values({{ texts }}[0], (name, text) -> if(text is null, parse_json('null'), variants[name]))
    )[0], null)
{%- endmacro -%}

{# A delimited record: split where nothing is quoted or escaped, else matched field by field. #}
{%- macro _lakemerge_delimited_parts_sql(options, group, text) -%}
    {%- set delimiter = adapter.string_literal(options.field_delimiter) -%}
    {%- set split = 'split(' ~ text ~ ', ' ~ adapter.split_pattern(options.field_delimiter) ~ ', -1)' -%}
    {%- set signs = [options.quote, options.escape] | select | list -%}
    {%- if not signs -%}
select *, {{ split }} as __tokens from {{ group.view }}
    {%- else -%}
select
    *,
    if(__plain, {{ split }}, transform(
        regexp_extract_all(concat({{ delimiter }}, {{ text }}), {{ adapter.string_literal(options.field_pattern) }}, 1),
        token -> {{ _lakemerge_unquoted_sql('token', options) }}
    )) as __tokens,
    __plain or concat({{ delimiter }}, {{ text }}) rlike {{ adapter.string_literal(options.row_pattern) }} as __well_formed
from (
    select
        *,
        {% for sign in signs %}not contains({{ text }}, {{ adapter.string_literal(sign) }}){{ ' and ' if not loop.last }}{% endfor %} as __plain
    from {{ group.view }}
)
    {%- endif -%}
{%- endmacro -%}

{# The text of a field as it stands in the record; null where it is the null literal, unquoted. #}
{%- macro _lakemerge_unquoted_sql(token, options) -%}
    {%- set quote = adapter.string_literal(options.quote) -%}
    {%- set inner = 'substr(' ~ token ~ ', 2, length(' ~ token ~ ') - 2)' -%}
    {%- if options.escape -%}
        {%- set escape = adapter.string_literal(options.escaped_pattern) -%}
        {%- set inner = 'regexp_replace(' ~ inner ~ ', ' ~ escape ~ ", '$1')" -%}
        {%- set plain = 'regexp_replace(' ~ token ~ ', ' ~ escape ~ ", '$1')" -%}
    {%- else -%}
        {%- set inner = 'replace(' ~ inner ~ ', ' ~ adapter.string_literal(options.quote * 2) ~ ', ' ~ quote ~ ')' -%}
        {%- set plain = token -%}
    {%- endif -%}
    case
        when {{ token }} = {{ adapter.string_literal(options.null_literal) }} then null
        {%- if options.quote %}
        when startswith({{ token }}, {{ quote }}) then {{ inner }}
        {%- endif %}
        else {{ plain }}
    end
{%- endmacro -%}

{#
    The texts of a pattern's groups. Matched once for all of them: each is written with a NUL between it and the next,
    and the whole is split. Only a record that has a NUL of its own is matched anew for each group.
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
