{# SQL that is true for a change whose key is null in one of its columns. #}
{%- macro lakemerge_null_key_sql(merge) -%}
(not __is_truncate and ({% for key in merge.keys %}__key_{{ loop.index }} is null{{ ' or ' if not loop.last }}{% endfor %}))
{%- endmacro -%}
