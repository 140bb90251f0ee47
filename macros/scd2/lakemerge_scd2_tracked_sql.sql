{# The tracked columns of a change, in a form that can be compared. #}
{%- macro lakemerge_scd2_tracked_sql(scd2) -%}
struct({% for column in scd2.tracked %}{{ column.compared('__row') }} as {{ column.quoted }}{{ ', ' if not loop.last }}{% else %}0 as nothing{% endfor %})
{%- endmacro -%}
