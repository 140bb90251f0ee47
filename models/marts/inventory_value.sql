{#- Sums that are kept by increments: what came is added, and what went is taken off. -#}
{{
    config(
        materialized='incremental',
        incremental_strategy='merge',
        unique_key=['category', 'brand'],
        apply_as_deletes='product_count = 0',
    )
}}

with

changed_products as (

    select
        *,
        if(_change_type in ('insert', 'update_postimage'), 1, -1) as added
    from {{ consume_changes(ref('product_stock')) }}

),

changes_by_brand as (

    select
        category,
        brand,
        sum(added) as product_count,
        sum(added * coalesce(inventory, 0)) as unit_count,
        sum(added * coalesce(stock_value, 0)) as inventory_value,
        sum(if(stock_value is null, added, 0)) as unvalued_product_count
    from changed_products
    group by category, brand

),

{% if is_incremental() %}

value_by_brand as (

    select
        changed.category,
        changed.brand,
        changed.product_count + coalesce(kept.product_count, 0) as product_count,
        changed.unit_count + coalesce(kept.unit_count, 0) as unit_count,
        changed.inventory_value + coalesce(kept.inventory_value, 0) as inventory_value,
        changed.unvalued_product_count
        + coalesce(kept.unvalued_product_count, 0) as unvalued_product_count
    from changes_by_brand as changed
    left join {{ this }} as kept
        on changed.category = kept.category and changed.brand = kept.brand

)

{% else %}

value_by_brand as (

    select * from changes_by_brand

)

{% endif %}

select
    category,
    brand,
    product_count,
    unit_count,
    cast(inventory_value as decimal(18, 2)) as inventory_value,
    unvalued_product_count
from value_by_brand
