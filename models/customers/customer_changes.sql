{{
    config(
        materialized='incremental',
        append_layout='commit_partitioned',
    )
}}

select
    -- ids
    cast(customer_id as int) as customer_id,

    -- attributes; an empty text is a missing value
    nullif(trim(name), '') as name,
    nullif(trim(street), '') as street,
    nullif(trim(city), '') as city,
    nullif(lower(trim(segment)), '') as segment,

    -- what the change is, and how new
    upper(trim(op)) = 'D' as is_delete,
    cast(changed_at as timestamp) as changed_at
from {{ consume(source('customers', 'customer_changes'), on_rewrite='append_only') }}
