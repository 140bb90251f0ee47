{{
    config(
        materialized='incremental',
        incremental_strategy='merge',
        unique_key='order_id',
        sequence_by='change_number',
    )
}}

select
    cast(null as bigint) as order_id,
    cast(null as string) as product,
    cast(null as int) as pieces,
    cast(null as bigint) as change_number
where false
