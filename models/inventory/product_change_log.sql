{{
    config(
        materialized='incremental',
        incremental_strategy='insert_overwrite',
        partition_by=['feed_date'],
    )
}}

with

changes as (

    select * from {{ ref('stg_products__changes') }}

),

-- A day run twice replaces its own partition. A partition a day leaves a small file a day:
-- product_change_log_compacted gathers them.
delivered as (

    select
        product_id,
        category,
        brand,
        price,
        inventory,
        ts,
        is_delete,
        file_name,
        feed_date
    from changes
    {% if var('feed_date') and is_incremental() %}
    where feed_date = date '{{ var("feed_date") }}'
    {% elif var('feed_date') %}
    where feed_date <= date '{{ var("feed_date") }}'
    {% endif %}

)

select * from delivered
