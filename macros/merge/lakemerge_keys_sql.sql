{#
    The internal key columns, `__key_1, __key_2…`.

    Example: {{ lakemerge_keys_sql(merge, 'changes') }} gives `changes.__key_1, changes.__key_2`.
#}
{%- macro lakemerge_keys_sql(merge, prefix=none) -%}
    {%- for key in merge.keys -%}
        {{ prefix ~ '.' if prefix }}__key_{{ loop.index }}{{ ', ' if not loop.last }}
    {%- endfor -%}
{%- endmacro -%}
