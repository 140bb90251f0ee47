{# The quarantined records by reason and column, as a view that Hive and Trino can read too. #}
{%- macro lakemerge_quarantine_view_sql(view, quarantine) -%}
create or replace view {{ view }} as
select
    reason,
    column_name,
    count(*) as records,
    count(distinct file) as files,
    min(batch) as first_batch,
    max(batch) as last_batch,
    max(replays) as most_replays,
    min(reason_text) as example
from {{ quarantine }}
group by reason, column_name
{%- endmacro -%}
