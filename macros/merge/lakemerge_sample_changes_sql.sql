{# Up to five keys of the feed's changes that a condition holds for; it may ask for `__is_null_key`. #}
{%- macro lakemerge_sample_changes_sql(merge, condition, changes) -%}
select {{ lakemerge_keys_sql(merge) }}
from (select *, {{ lakemerge_null_key_sql(merge) }} as __is_null_key from {{ changes }})
where {{ condition }}
limit 5
{%- endmacro -%}
