{#
    Refuses `clustered_by`: Spark's files do not follow Hive's bucketing, so other engines would read
    such a table wrongly.

    Args:
        label: the words before the columns; not used.
        required: not used.
#}
{% macro lakemerge__clustered_cols(label, required=false) -%}
    {%- if config.get('clustered_by') -%}
        {%- do exceptions.raise_compiler_error(
            "Expected no `clustered_by`: Hive's buckets cannot be written by Spark; found "
            ~ config.get('clustered_by') ~ ". Remove it, or use `partition_by`."
        ) -%}
    {%- endif -%}
{%- endmacro %}
