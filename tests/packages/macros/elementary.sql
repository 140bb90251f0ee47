{# elementary inserts rows into these tables by itself, some with an id that is there already. A merge's key is unique. #}
{% macro spark__get_default_incremental_strategy() %}
    {{ return('append') }}
{% endmacro %}
