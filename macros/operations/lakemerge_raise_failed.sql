{#
    Raise the errors of an operation on several tables at its end.

    Args:
        operation: its name.
        failed: name and error of each table that failed.
        count: how many tables there were.
#}
{%- macro lakemerge_raise_failed(operation, failed, count) -%}
    {%- if failed -%}
        {%- do exceptions.raise_compiler_error(operation ~ ' failed for ' ~ (failed | length) ~ ' of ' ~ count ~ ' tables; the others are done.\n' ~ (failed | join('\n'))) -%}
    {%- endif -%}
{%- endmacro -%}
