{# Spark's hint that lets one task read a relation, where the join (see `lakemerge_join_hint`) is that of one task. #}
{%- macro lakemerge_one_task_hint(join) -%}
    {%- if join == 'one_task' -%} /*+ coalesce(1) */ {%- endif -%}
{%- endmacro -%}
