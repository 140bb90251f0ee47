{# The sequence of the latest truncate, in this feed or an earlier one. Changes up to it are void. #}
{%- macro lakemerge_horizon_sql(merge, has_ledger) -%}
select max(__sequence) from (
            select __sequence from lakemerge_latest where __is_truncate
            {%- if has_ledger %}
            union all
            select __sequence from lakemerge_ledger where __kind = 'truncate'
            {%- endif %}
        )
{%- endmacro -%}
