{# The internal key columns under names that no column of a row has, for use beside a row's columns. #}
{%- macro lakemerge_source_keys_sql(merge) -%}
    {%- for key in merge.keys -%}
        __key_{{ loop.index }} as _lakemerge_key_{{ loop.index }}{{ ', ' if not loop.last }}
    {%- endfor -%}
{%- endmacro -%}
