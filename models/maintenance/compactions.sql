-- depends_on: {{ ref('maintenance') }}
{{ config(materialized='table') }}

select
    id,
    table_name,
    action,
    reason,
    state,
    started_at,
    ended_at,
    seconds,
    files_before,
    files_after,
    bytes_before,
    bytes_after,
    error
from ({{ lakemerge_compactions_sql('*') }})
