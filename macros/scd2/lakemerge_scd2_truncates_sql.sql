{# One row with the sequences of all truncates, in this feed and earlier ones (__sequences). #}
{%- macro lakemerge_scd2_truncates_sql(has_ledger) -%}
select collect_set(__sequence) as __sequences
from (
    select __sequence from lakemerge_changes where __is_truncate
    {%- if has_ledger %}
    union all
    select __sequence from lakemerge_ledger where __kind = 'truncate'
    {%- endif %}
)
{%- endmacro -%}
