{# Spark's hint that lets one task read a relation, if the join (see `lakemerge_join_hint`) is done by one task. #}
{%- macro lakemerge_one_task_hint(join) -%}
    {%- if join == 'one_task' -%} /*+ coalesce(1) */ {%- endif -%}
{%- endmacro -%}
