{#
    Let a name stand for a version of a table, and keep the version from vacuum.

        dbt run-operation lakemerge_tag --args '{table: products, tag: month_end_2026_10, as_table: true}'

    Args:
        table: a name, with or without its schema.
        tag: letters, digits, `_`, `-` and `.`.
        version: its number; the newest one by default.
        timestamp: the last version that was committed by then; in UTC where it has no zone.
        retain: how long the version is kept, such as `400 days`; for good by default.
        as_table: whether Hive, Spark, Trino and Presto get a table of the version, `<table>__<tag>`, or its name.
#}
{%- macro lakemerge_tag(table, tag, version=none, timestamp=none, retain=none, as_table=false) -%}
    {%- if not execute -%}{{- return(none) -}}{%- endif -%}
    {%- set made = adapter.versions.tag(lakemerge_relation(table), tag, version, timestamp, retain, as_table) -%}
    {%- set kept = 'until ' ~ made.expires_at if made.expires_at else 'for good' -%}
    {%- do log(table ~ ': version ' ~ made.version ~ ' is ' ~ tag ~ ', and kept ' ~ kept ~ ('; its table is ' ~ made.table if made.table else ''), info=true) -%}
    {{- return(made) -}}
{%- endmacro -%}
