{# Tables are cloned by copying their rows. #}
{% macro lakemerge__can_clone_table() -%}
    {{ return(true) }}
{%- endmacro %}
