{{ config(materialized='table') }}

select *
from ({{ lakemerge_compactions_sql('*') }})
