{#
    The rules for a record as a whole. Each is a list: SQL that is true if the record keeps it, the code of the reason,
    SQL of its text and, if there is a quicker check, SQL that suffices for records whose values are exact.
#}
{%- macro lakemerge_record_sound_sql(plan, group) -%}
    {%- set rules = [] -%}
    {%- if group.has_nulls -%}
        {%- do rules.append(['_lakemerge_raw is not null', 'null_value', "'the record has no value'"]) -%}
    {%- endif -%}
    {%- if not group.is_typed -%}
        {%- set found = "'its bytes are not " ~ plan.options.encoding ~ "'" -%}
        {%- do rules.append([plan.valid_sql, 'bad_encoding', found, plan.valid_sql_of_exact(group)]) -%}
        {%- if plan.rejects_nul -%}
            {%- do rules.append(['not contains(_lakemerge_raw, chr(0))', 'bad_encoding', "'it holds NUL characters, as text in UTF-16 does; nul_characters: accept takes them'"]) -%}
        {%- endif -%}
    {%- endif -%}
    {%- for problem in group.problems -%}
        {%- do rules.append(['false', problem[0], adapter.string_literal(problem[1])]) -%}
    {%- endfor -%}
    {%- if group.has_marks and plan.rejects_unterminated -%}
        {%- do rules.append(['not _lakemerge_unterminated', 'truncated_record', "'the file ends in this record, without a line delimiter'"]) -%}
    {%- endif -%}
    {%- if group.format == 'delimited' -%}
        {%- if plan.options.quote or plan.options.escape -%}
            {%- do rules.append(['_lakemerge_well_formed', 'malformed_quotes', "'a quoted field is not closed before the delimiter, or a quote stands in one that is not quoted'"]) -%}
        {%- endif -%}
        {%- set found = "concat('expected " ~ group.size ~ " fields, found ', size(_lakemerge_tokens))" -%}
        {%- if plan.options.missing_fields == 'reject' -%}
            {%- do rules.append(['size(_lakemerge_tokens) >= ' ~ group.size, 'missing_field', found]) -%}
        {%- endif -%}
        {%- if plan.options.extra_fields == 'reject' -%}
            {%- do rules.append(['size(_lakemerge_tokens) <= ' ~ group.size, 'extra_field', found]) -%}
        {%- endif -%}
    {%- elif group.format == 'regex' -%}
        {%- do rules.append(['_lakemerge_well_formed', 'no_match', "'the pattern does not match the record'"]) -%}
    {%- elif group.format == 'json' -%}
        {%- do rules.extend(_lakemerge_json_rules(plan, group)) -%}
    {%- endif -%}
    {{- return(rules) -}}
{%- endmacro -%}

{# The rules for a record that is a JSON object. #}
{%- macro _lakemerge_json_rules(plan, group) -%}
    {%- set names = group.field_names_sql -%}
    {%- set extra = 'array_except(map_keys(_lakemerge_fields), array(' ~ names ~ '))' -%}
    {%- set missing = 'array_except(array(' ~ names ~ '), map_keys(_lakemerge_fields))' -%}
    {%- set readable = '_lakemerge_plain or not arrays_overlap(array(' ~ names ~ '), map_keys(map_filter(_lakemerge_fields, (name, value) -> value is null)))' -%}
    {%- set once = 'size(array_distinct(map_keys(_lakemerge_fields))) = size(_lakemerge_fields)' -%}
    {%- if plan.options.extra_fields == 'drop' -%}
        {%- set once = once ~ ' or size(filter(map_keys(_lakemerge_fields), name -> name in (' ~ (names or 'null') ~ '))) = size(array_intersect(map_keys(_lakemerge_fields), array(' ~ names ~ ')))' -%}
    {%- endif -%}
    {%- set why -%}
        case
            when {{ plan.text_sql }} rlike '[0-9.]{1000}' then 'a number in it has a thousand digits'
            when {{ plan.text_sql }} rlike '(?:[\\[{][^\\[\\]{}]*+){201}' then 'it is nested more than 200 levels deep'
            else 'it is not one JSON object'
        end
    {%- endset -%}
    {%- set rules = [
        ['_lakemerge_fields is not null and ' ~ _lakemerge_json_ends_sql(plan.text_sql), 'malformed_json', why],
        [once, 'duplicate_field', "'a field stands in it twice'"],
        [readable ~ ' or not ' ~ _lakemerge_has_half_sql(group.marks, plan.text_sql), 'malformed_json', "'half of a character stands in it'"],
        [readable, 'duplicate_field', "'a name stands twice in an object of it'"],
    ] -%}
    {%- if plan.options.missing_fields == 'reject' -%}
        {%- do rules.append(['size(' ~ missing ~ ') = 0', 'missing_field', "concat('missing: ', array_join(" ~ missing ~ ", ', '))"]) -%}
    {%- endif -%}
    {%- if plan.options.extra_fields == 'reject' -%}
        {%- do rules.append(['size(' ~ extra ~ ') = 0', 'extra_field', "concat('not declared: ', array_join(" ~ extra ~ ", ', '))"]) -%}
    {%- endif -%}
    {{- return(rules) -}}
{%- endmacro -%}
