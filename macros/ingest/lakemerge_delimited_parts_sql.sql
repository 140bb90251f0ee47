{# The fields of a delimited record: split if nothing is quoted or escaped, otherwise matched field by field. #}
{%- macro lakemerge_delimited_parts_sql(options, group, text) -%}
    {%- set delimiter = adapter.string_literal(options.field_delimiter) -%}
    {%- set split = 'split(' ~ text ~ ', ' ~ options.field_split ~ ', -1)' -%}
    {%- set signs = [options.quote, options.escape] | select | list -%}
    {%- if not signs -%}
select *, {{ split }} as _lakemerge_tokens from {{ group.view }}
    {%- else -%}
select
    *,
    if(_lakemerge_plain, {{ split }}, transform(
        regexp_extract_all(concat({{ delimiter }}, {{ text }}), {{ adapter.string_literal(options.field_pattern) }}, 1),
        token -> {{ _lakemerge_unquoted_sql('token', options) }}
    )) as _lakemerge_tokens,
    _lakemerge_plain or concat({{ delimiter }}, {{ text }}) rlike {{ adapter.string_literal(options.row_pattern) }} as _lakemerge_well_formed
from (
    select
        *,
        {% for sign in signs %}not contains({{ text }}, {{ adapter.string_literal(sign) }}){{ ' and ' if not loop.last }}{% endfor %} as _lakemerge_plain
    from {{ group.view }}
)
    {%- endif -%}
{%- endmacro -%}

{# The text of a field as the record has it; null if it is the null literal without quotes. #}
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
