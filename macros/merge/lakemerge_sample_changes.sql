{# Up to five keys of the feed's changes that a condition holds for, as text for an error. #}
{%- macro lakemerge_sample_changes(merge, condition, changes='lakemerge_latest') -%}
    {%- set null_key -%}
        {%- for key in merge.keys -%}__key_{{ loop.index }} is null{{ ' or ' if not loop.last }}{%- endfor -%}
    {%- endset -%}
    {%- set sql -%}
        select {{ lakemerge_keys_sql(merge) }}
        from (select *, not __is_truncate and ({{ null_key }}) as __is_null_key from {{ changes }})
        where {{ condition }}
        limit 5
    {%- endset -%}
    {{- return('For instance: ' ~ lakemerge_key_list(adapter.rows_of(sql)) ~ '.') -}}
{%- endmacro -%}
