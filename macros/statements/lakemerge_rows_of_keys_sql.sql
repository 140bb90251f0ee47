{# How many rows the table shows with the keys of the rows that a statement changes. #}
{%- macro lakemerge_rows_of_keys_sql(merge) -%}
select count(*) as row_count
from {{ merge.table }} as stored
left semi join (
    select {{ lakemerge_keys_sql(merge) }} from lakemerge_changed where __action <> 'insert'
) as changed
    on {% for key in merge.keys %}{{ key.stored('stored') }} = changed.__key_{{ loop.index }}{{ ' and ' if not loop.last }}{% endfor %}
{%- endmacro -%}
