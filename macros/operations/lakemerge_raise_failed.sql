{#
    Raise what failed, at the end of an operation on several tables.

    Args:
        operation: its name.
        failed: of each table that failed, its name and the error.
        count: how many tables there were.
#}
{%- macro lakemerge_raise_failed(operation, failed, count) -%}
    {%- if failed -%}
        {%- do exceptions.raise_compiler_error(operation ~ ' failed for ' ~ (failed | length) ~ ' of ' ~ count ~ ' tables; the others are done.\n' ~ (failed | join('\n'))) -%}
    {%- endif -%}
{%- endmacro -%}
