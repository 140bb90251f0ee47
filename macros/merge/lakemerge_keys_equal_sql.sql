{#
    The condition that two sets of internal key columns are equal. Nulls never match: a feed must not have them, and
    a stored row with a null key matches nothing.
#}
{%- macro lakemerge_keys_equal_sql(merge, left, right) -%}
    {%- for key in merge.keys -%}
        {{ left }}.__key_{{ loop.index }} = {{ right }}.__key_{{ loop.index }}{{ ' and ' if not loop.last }}
    {%- endfor -%}
{%- endmacro -%}
