{# A struct of the columns that the strategy `check` compares, for one of the two sides. #}
{%- macro lakemerge_checked_columns_sql(names, prefix) -%}
    {%- set types = {} -%}
    {%- for column in adapter.get_columns_in_relation(this) -%}
        {%- do types.update({column.name | lower: column.dtype}) -%}
    {%- endfor -%}
    struct({{ adapter.snapshots.comparable_columns(names, types, prefix) | join(', ') }})
{%- endmacro -%}
