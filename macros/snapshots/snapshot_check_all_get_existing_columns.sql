{#
    The columns that the strategy `check` compares, and whether the source has one that the table lacks; if it does,
    every row counts as changed, as in dbt. The metastore keeps names in lower case, so case is ignored: with dbt's own
    macro, a source with a column `Id` would be changed in every run.
#}
{%- macro snapshot_check_all_get_existing_columns(node, target_exists, check_cols_config) -%}
    {%- if check_cols_config != 'all' and (check_cols_config is string or not check_cols_config) -%}
        {%- do exceptions.raise_compiler_error("Invalid value for 'check_cols': " ~ check_cols_config) -%}
    {%- endif -%}
    {%- if not target_exists -%}
        {{- return((false, [])) -}}
    {%- endif -%}
    {%- set source -%}
        {#- the line break keeps a comment at the query's end from hiding the parenthesis -#}
        select {{ '*' if check_cols_config == 'all' else check_cols_config | join(', ') }} from (
            {{ node['compiled_code'] }}
        )
    {%- endset -%}
    {%- set wanted = adapter.snapshots.columns_of_query(source) -%}
    {%- set stored = adapter.get_columns_in_relation(this) | map(attribute='name') | map('lower') | list -%}
    {%- set found = [] -%}
    {%- for name in wanted if name | lower in stored -%}
        {%- do found.append(name) -%}
    {%- endfor -%}
    {{- return((found | length < wanted | length, found)) -}}
{%- endmacro -%}
