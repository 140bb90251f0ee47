{# Whether a merge has something to remember in the ledger. #}
{%- macro lakemerge_stages_ledger(merge, resolved, absent, has_ledger) -%}
    {%- if not merge.sequence -%}
        {{- return(false) -}}
    {%- endif -%}
    {%- set metrics = resolved['metrics'] -%}
    {%- set live = metrics['inserted'] + metrics['updated'] if merge.keeps_live_sequences else 0 -%}
    {%- set remembered = metrics['deleted'] + metrics['tombstones'] + live -%}
    {%- if not remembered and resolved['truncates'] -%}
        {#- a truncate is remembered even when it ended no row, but once -#}
        {%- set known = '(select max(__sequence) from lakemerge_ledger where __kind = \'truncate\')' if has_ledger else 'null' -%}
        {%- set sql = 'select 1 from lakemerge_latest where __is_truncate and not coalesce(__sequence <= ' ~ known ~ ', false)' -%}
        {{- return(adapter.rows_of(sql) | length > 0) -}}
    {%- endif -%}
    {{- return(remembered > 0) -}}
{%- endmacro -%}
