{# The feed's truncate, if it is later than all truncates in the ledger. #}
{%- macro lakemerge_new_truncates_sql(has_ledger) -%}
{%- set known = "(select max(__sequence) from lakemerge_ledger where __kind = 'truncate')" if has_ledger else 'null' -%}
select 1 from lakemerge_latest where __is_truncate and not coalesce(__sequence <= {{ known }}, false)
{%- endmacro -%}
