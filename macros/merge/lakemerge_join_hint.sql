{#
    Spark's hint for a join of changes and stored rows.

    Args:
        join: how they are joined: 'broadcast', 'one_task', or empty where Spark chooses.
        small: the names of the relations that are sent to every task, or that the only task keeps whole.
#}
{%- macro lakemerge_join_hint(join, small) -%}
    {%- set hint = {'broadcast': 'broadcast', 'one_task': 'shuffle_hash'}.get(join) -%}
    {%- if hint and small -%} /*+ {{ hint }}({{ small | join(', ') }}) */ {%- endif -%}
{%- endmacro -%}
