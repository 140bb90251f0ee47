{{
    config(
        materialized='incremental',
        incremental_strategy='merge',
        unique_key='product',
        sequence_by='change_number',
    )
}}

select
    cast(null as string) as product,
    cast(null as int) as pieces,
    cast(null as bigint) as change_number
where false
