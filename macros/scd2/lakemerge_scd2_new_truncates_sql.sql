{# The feed's truncates that are not in the ledger. #}
{%- macro lakemerge_scd2_new_truncates_sql(has_ledger) -%}
select changes.__sequence
from lakemerge_changes as changes
{%- if has_ledger %}
left anti join lakemerge_ledger as known
    on known.__kind = 'truncate' and known.__sequence = changes.__sequence
{%- endif %}
where changes.__is_truncate
{%- endmacro -%}
