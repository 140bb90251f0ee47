{# dbt_utils: its get_relations_by_prefix and get_relations_by_pattern ask information_schema, which Spark has not. #}
{% macro spark__get_tables_by_pattern_sql(schema_pattern, table_pattern, exclude='', database=none) %}
    {% set found = [] %}
    {% for schema in run_query('show schemas').columns[0].values() if name_is_like(schema, schema_pattern) %}
        {% for table in run_query('show tables in ' ~ adapter.quote(schema)) if not table['isTemporary'] %}
            {% if name_is_like(table['tableName'], table_pattern)
                and not name_is_like(table['tableName'], exclude) %}
                {% do found.append(adapter.get_relation(none, schema, table['tableName'])) %}
            {% endif %}
        {% endfor %}
    {% endfor %}
    {% for relation in found %}
        select
            '{{ relation.schema }}' as table_schema,
            '{{ relation.identifier }}' as table_name,
            '{{ relation.type }}' as table_type
        union all
    {% endfor %}
    select '', '', '' where false
{% endmacro %}

{% macro name_is_like(name, pattern) %}
    {% set regex = modules.re.escape(pattern) | replace('%', '.*') | replace('_', '.') %}
    {{ return(modules.re.fullmatch(regex, name, modules.re.IGNORECASE)) }}
{% endmacro %}
