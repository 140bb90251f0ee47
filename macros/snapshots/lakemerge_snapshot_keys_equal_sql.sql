{# The condition that two rows have the same key. Nulls never match: a source must not have them. #}
{%- macro lakemerge_snapshot_keys_equal_sql(snapshot, left, right) -%}
    {%- for key in snapshot.keys -%}
        {{ left }}.{{ key }} = {{ right }}.{{ key }}{{ ' and ' if not loop.last }}
    {%- endfor -%}
{%- endmacro -%}
