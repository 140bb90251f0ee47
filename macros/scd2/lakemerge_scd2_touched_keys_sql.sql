{# The keys that the feed changes, and the place in the order of the first change (__from). #}
{%- macro lakemerge_scd2_touched_keys_sql(scd2) -%}
select
    {{ lakemerge_keys_sql(scd2.merge) }},
    min(__sequence) as __from
from lakemerge_changes
where not __is_truncate
group by {{ lakemerge_keys_sql(scd2.merge) }}
{%- endmacro -%}
