{# SQL over `lakemerge_changed` that is true where a row keeps its key. #}
{%- macro lakemerge_same_key_sql(merge) -%}
{%- for key in merge.keys -%}
__key_{{ loop.index }} <=> __new_row.{{ key.quoted }}{{ ' and ' if not loop.last }}
{%- endfor -%}
{%- endmacro -%}
