{#- What has changed in the master since the last run, and no more; deletes are passed on. -#}
{{
    config(
        materialized='incremental',
        incremental_strategy='merge',
        unique_key='product_id',
        apply_as_deletes="_change_type = 'delete'",
        except_column_list=['_change_type'],
    )
}}

with

changed_products as (

    select * from {{ consume_changes(ref('product_master'), net=true, preimages=false) }}

),

valued as (

    select
        product_id,
        coalesce(category, 'unknown') as category,
        coalesce(brand, 'unknown') as brand,
        inventory,
        cast(price * inventory as decimal(18, 2)) as stock_value,
        _change_type
    from changed_products

)

select * from valued
