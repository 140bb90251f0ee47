{# The rows that a merge inserts or updates in one part of its query, as the table will hold them; see `lakemerge_merged_rows_sql`. #}
{%- macro lakemerge_changed_rows_sql(merge, gather, change_files, condition) -%}
select {{ '/*+ coalesce(' ~ change_files ~ ') */' if not gather }}
    {%- for column in merge.columns %}
    __new_row.{{ column.quoted }}{{ ',' if not loop.last }}
    {%- endfor %}
from lakemerge_resolved
where __action in ('insert', 'update') and {{ condition }}
{%- endmacro -%}
