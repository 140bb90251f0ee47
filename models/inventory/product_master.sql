{{
    config(
        materialized='incremental',
        incremental_strategy='merge',
        unique_key='product_id',
        sequence_by='ts',
        apply_as_deletes='is_delete',
        except_column_list=['is_delete'],
        partition_by=['category'],
    )
}}

with

changes as (

    select * from {{ ref('stg_products__changes') }}

),

-- A day's files hold late and repeated rows as well: the merge keeps the newest of each product.
delivered as (

    select
        product_id,
        brand,
        price,
        inventory,
        ts,
        is_delete,
        category
    from changes
    {% if var('feed_date') and is_incremental() %}
    where feed_date = date '{{ var("feed_date") }}'
    {% elif var('feed_date') %}
    where feed_date <= date '{{ var("feed_date") }}'
    {% endif %}

)

select * from delivered
