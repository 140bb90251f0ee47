{# A table's name as messages have it: `schema.table`. #}
{%- macro lakemerge_shown_name(relation) -%}
{{- return(relation.schema ~ '.' ~ relation.identifier) -}}
{%- endmacro -%}
