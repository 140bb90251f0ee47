{#
    A struct of the table's columns.

    Args:
        prefix: the row to take them from; null for a column that it lacks.
        of_source: whether the row is the source's, which may lack columns.
    #}
{%- macro lakemerge_version_row_sql(snapshot, prefix, of_source) -%}
named_struct(
    {%- for column in snapshot.columns %}
    '{{ column.name | replace("\\", "\\\\") | replace("'", "\\'") }}', {{ prefix ~ '.' ~ column.quoted if column.in_feed or not of_source else column.from_feed }}{{ ',' if not loop.last }}
    {%- endfor %}
)
{%- endmacro -%}
