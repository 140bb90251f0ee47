{# One column of several changes of a key, by what updates do to it: see MergeColumn.mode. #}
{%- macro lakemerge_folded_column_sql(column) -%}
    {%- set value = '__row.' ~ column.quoted -%}
    {%- if column.mode == 'coalesce' -%}
        max_by({{ value }}, struct(__sequence, __hash)) filter (where __is_living and {{ value }} is not null)
    {%- elif column.mode == 'keep' -%}
        min_by({{ value }}, struct(__sequence, __hash)) filter (where __is_living)
    {%- else -%}
        max_by({{ value }}, struct(__sequence, __hash)) filter (where __is_living)
    {%- endif -%}
{%- endmacro -%}
