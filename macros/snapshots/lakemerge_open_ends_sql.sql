{#
    For a table that this snapshot did not write: the latest end of rows that do not count as current, and whether it
    lies in the future. If it does, those rows are current, with another `dbt_valid_to` than the config says.
#}
{%- macro lakemerge_open_ends_sql(txn, snapshot) -%}
{%- set valid_to, valid_from = snapshot.names.dbt_valid_to, snapshot.names.dbt_valid_from -%}
select
    cast(max(if({{ snapshot.is_current }}, null, {{ valid_to }})) as string) as latest_end,
    max(if({{ snapshot.is_current }}, null, {{ valid_to }})) > greatest({{ snapshot.run_time }}, max({{ valid_from }})) as is_open
from {{ txn.table }}
where {{ snapshot.layout.open_filter }}
{%- endmacro -%}
