{# Up to five keys of `lakemerge_changes` with an action, as text for an error. #}
{%- macro lakemerge_sample_keys(snapshot, action) -%}
    {%- set sql -%}
        select distinct {{ lakemerge_snapshot_keys_sql(snapshot) }}
        from lakemerge_changes
        where __action = '{{ action }}'
        limit 5
    {%- endset -%}
    {%- set samples = [] -%}
    {%- for row in adapter.rows_of(sql) -%}
        {%- do samples.append('(' ~ (row | join(', ')) ~ ')') -%}
    {%- endfor -%}
    {{- return('For instance: ' ~ (samples | join(', ')) ~ '.') -}}
{%- endmacro -%}
