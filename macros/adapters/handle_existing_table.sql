{#
    Drops the table that a view replaces, once the view's query is known to be valid.

    Args:
        full_refresh: not used.
        old_relation: the table.
#}
{% macro lakemerge__handle_existing_table(full_refresh, old_relation) -%}
    {%- do adapter.check_droppable(old_relation) -%}
    {%- call statement('validate_view', auto_begin=false) -%}
        {{ get_empty_subquery_sql(sql, config.get('sql_header')) }}
    {%- endcall -%}
    {%- do log('Dropping table ' ~ old_relation.render() ~ ': the model is a view now', info=true) -%}
    {%- do adapter.drop_relation(old_relation) -%}
{%- endmacro %}
