{#
    The fields of a JSON record. `_lakemerge_plain` says whether the whole record can be a variant; an object with a repeated
    name cannot, nor one with half of a character, which Spark before 4.2 would change into a question mark. If it cannot, its
    fields are read one by one, so that a bad field that no column needs does no harm; fields that cannot be a variant are null. For many declared fields there is also `_lakemerge_values`, a struct of them; and
    `_lakemerge_numbers`, if a number is written in a way that variants do not keep.
#}
{%- macro lakemerge_json_parts_sql(group, text) -%}
    {%- if not group.options.has_variants -%}
{{ lakemerge_marked_parts_sql(group, text) }}
    {%- else -%}
select
    *,
    if(_lakemerge_plain, _lakemerge_objects[0], {{ _lakemerge_json_fields_sql(group, text) }}) as _lakemerge_fields
    {%- if group.has_many_fields %},
    get({{ _lakemerge_parsed_sql(text, group.values_type) }}, 0) as _lakemerge_values
    {%- endif %}
    {%- if group.numbers_type %},
    if({{ text }} rlike {{ adapter.string_literal(group.odd_number_pattern) }}, {{ _lakemerge_parsed_sql(lakemerge_json_quoted_sql(group, text), group.numbers_type) }}[0], null) as _lakemerge_numbers
    {%- endif %}
from (
    select *, coalesce(size(_lakemerge_objects) = 1, false) and not {{ _lakemerge_has_half_sql(group.marks, text) }} as _lakemerge_plain
    from (
        select *, {{ _lakemerge_parsed_sql(text, 'map<string,variant>') }} as _lakemerge_objects from {{ group.view }}
    )
)
    {%- endif -%}
{%- endmacro -%}

{# An array of the JSON values in a text. The text is wrapped in an array, as a parser stops after the first value. #}
{%- macro _lakemerge_parsed_sql(text, type) -%}
    from_json(concat('[', {{ text }}, ']'), {{ adapter.string_literal('array<' ~ type ~ '>') }}, {{ _lakemerge_json_options_sql() }})
{%- endmacro -%}

{#
    Whether nothing follows the object of a text that `_lakemerge_parsed_sql` reads as one. The text may close the array that it is
    wrapped in, as `{"id":1}],[{"id":2}` does; but then it does not close a wrapping object, which is tried for such texts alone.
#}
{%- macro _lakemerge_json_ends_sql(text) -%}
    (not {{ text }} rlike '[}]\\s*\\]' or from_json(concat('{"":', {{ text }}, '}'), 'map<string,string>', {{ _lakemerge_json_options_sql() }}) is not null)
{%- endmacro -%}

{#-
    Spark accepts more than JSON has, unless it is told not to. Its functions of variants recurse until Java's stack is full, so 200
    levels are the most, and one for what the text is wrapped in.
-#}
{%- macro _lakemerge_json_options_sql() -%}
    map('allowSingleQuotes', 'false', 'allowNonNumericNumbers', 'false', 'maxNestingDepth', '201')
{%- endmacro -%}

{# Whether half of a character stands in a JSON text. #}
{%- macro _lakemerge_has_half_sql(marks, text) -%}
    ({{ text }} rlike {{ adapter.string_literal(marks.HALF_ESCAPE) }} and {{ text }} rlike {{ adapter.string_literal(marks.HALF) }})
{%- endmacro -%}

{# A JSON text made of another, or the same one, in which the MD5 sum of the other is in the place of each string with half of a character. #}
{%- macro _lakemerge_without_halves_sql(marks, text, made) -%}
    if(
        {{ text }} rlike {{ adapter.string_literal(marks.HALF_ESCAPE) }},
        regexp_replace({{ made }}, {{ adapter.string_literal(marks.HALF) }}, concat('$1"', md5({{ text }}), '"')),
        {{ made }}
    )
{%- endmacro -%}

{# Whether half of a character stood in a part of `_lakemerge_without_halves_sql`. #}
{%- macro _lakemerge_had_half_sql(marks, text, part) -%}
    ({{ text }} rlike {{ adapter.string_literal(marks.HALF_ESCAPE) }} and contains({{ part }}, md5({{ text }})))
{%- endmacro -%}

{# The fields of a record that cannot be a variant as a whole; null if it is not a single object. #}
{%- macro _lakemerge_json_fields_sql(group, text) -%}
    {%- set texts = _lakemerge_parsed_sql(_lakemerge_without_halves_sql(group.marks, text, text), 'map<string,string>') -%}
    {%- set variants = 'coalesce(' ~ _lakemerge_parsed_sql(text, group.values_type) ~ ', array(null))' -%}
    if(size({{ texts }}) = 1, transform(
        transform({{ variants }}, found -> {{ group.variants_sql('found') }}),
        variants -> transform_values({{ texts }}[0], (name, part) -> if(part is null, parse_json('null'), if({{ _lakemerge_had_half_sql(group.marks, text, 'part') }}, null, variants[name])))
    )[0], null)
{%- endmacro -%}
