{# The fields of a JSON record as marked texts (see `marked_texts.py`), in the columns of `lakemerge_json_parts_sql`. #}
{%- macro lakemerge_marked_parts_sql(group, text) -%}
    {%- set is_object = 'size(' ~ _lakemerge_parsed_sql(text, 'map<string,string>') ~ ') = 1' -%}
    {%- set fields = _lakemerge_parsed_sql('_lakemerge_marked', 'map<string,string>') ~ '[0]' -%}
select
    *,
    false as _lakemerge_plain,
    if({{ is_object }}, transform_values({{ fields }}, (name, found) -> {{ _lakemerge_readable_sql(group.marks, 'found', text) }}), null) as _lakemerge_fields
    {%- if group.has_many_fields %},
    get({{ _lakemerge_parsed_sql('_lakemerge_marked', group.values_type) }}, 0) as _lakemerge_values
    {%- endif %}
from (
    select *, {{ _lakemerge_marked_sql(group, text) }} as _lakemerge_marked from {{ group.view }}
)
{%- endmacro -%}

{# A JSON text with its values marked. #}
{%- macro _lakemerge_marked_sql(group, text) -%}
    {%- set marks = group.marks -%}
    {%- set strings = 'regexp_replace(' ~ text ~ ', ' ~ adapter.string_literal(marks.STRING_VALUE) ~ ", '$1\"s$2')" -%}
    {%- set numbers = lakemerge_json_quoted_sql(group, strings, 'n') -%}
    {%- set marked = 'regexp_replace(' ~ numbers ~ ', ' ~ adapter.string_literal(marks.LITERAL) ~ ", '$1\"=$2\"')" -%}
    {{ _lakemerge_without_halves_sql(marks, text, marked) }}
{%- endmacro -%}

{# A field's marked text; null if a variant would not hold it: half of a character stands in it, or a name twice in one object. #}
{%- macro _lakemerge_readable_sql(marks, found, text) -%}
    if(
        {{ _lakemerge_had_half_sql(marks, text, found) }}
        or ({{ found }} rlike '^[{\\[]' and {{ _lakemerge_named_twice_sql(marks, found) }}),
        null, {{ found }}
    )
{%- endmacro -%}

{#
    Whether an object in the text of a collection has two members of one name. The innermost objects are looked at and become
    a hyphen, until there are none. No record has more than 200 levels; see `_lakemerge_json_options_sql`.
#}
{%- macro _lakemerge_named_twice_sql(marks, found) -%}
    {%- set innermost = adapter.string_literal(marks.INNERMOST) -%}
    {%- set names = 'regexp_extract_all(object, ' ~ adapter.string_literal(marks.NAME) ~ ', 1)' -%}
    aggregate(
        sequence(1, least(200, length({{ found }}) - length(replace({{ found }}, '{', '')))),
        named_struct('text', regexp_replace({{ found }}, {{ adapter.string_literal(marks.STRING_VALUE) }}, '$1-'), 'is_found', false),
        (state, level) -> if(state.is_found or not contains(state.text, '{'), state, named_struct(
            'text', regexp_replace(state.text, {{ innermost }}, '-'),
            'is_found', exists(regexp_extract_all(state.text, {{ innermost }}, 0), object -> size(array_distinct({{ names }})) < size({{ names }}))
        )),
        state -> state.is_found
    )
{%- endmacro -%}
