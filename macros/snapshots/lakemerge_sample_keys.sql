{# Up to five keys of `lakemerge_changes` with an action, as text for an error. #}
{%- macro lakemerge_sample_keys(snapshot, action) -%}
    {%- set sql -%}
        select distinct {{ lakemerge_snapshot_keys_sql(snapshot) }}
        from lakemerge_changes
        where __action = '{{ action }}'
        limit 5
    {%- endset -%}
    {{- return('For instance: ' ~ lakemerge_key_list(adapter.rows_of(sql)) ~ '.') -}}
{%- endmacro -%}
