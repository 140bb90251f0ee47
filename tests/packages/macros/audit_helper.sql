{# audit_helper: it counts distinct rows in a window, which Spark cannot. Its macro for others that cannot does. #}
{% macro spark___count_num_rows_in_status() %}
    {{ return(audit_helper._count_num_rows_in_status_without_distinct_window_func()) }}
{% endmacro %}
