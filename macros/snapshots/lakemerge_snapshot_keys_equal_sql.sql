{# The condition that two rows have one key. Nulls never match: they are refused in a source. #}
{%- macro lakemerge_snapshot_keys_equal_sql(snapshot, left, right) -%}
    {%- for key in snapshot.keys -%}
        {{ left }}.{{ key }} = {{ right }}.{{ key }}{{ ' and ' if not loop.last }}
    {%- endfor -%}
{%- endmacro -%}
