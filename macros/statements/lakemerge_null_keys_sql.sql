{# A row whose key would be null after a statement, if there is one. #}
{%- macro lakemerge_null_keys_sql(merge, moves_keys) -%}
select 1
from lakemerge_changed
where __action = 'insert'{{ " or __action = 'update'" if moves_keys }}
having count_if({% for key in merge.keys %}__new_row.{{ key.quoted }} is null{{ ' or ' if not loop.last }}{% endfor %}) > 0
{%- endmacro -%}
