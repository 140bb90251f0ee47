with

latest as (

    select
        product_id,
        max_by(struct(price, inventory, category, is_delete), ts) as product
    from {{ ref('product_changes') }}
    group by product_id

),

expected as (

    select
        product_id,
        product.price as price,
        product.inventory as inventory,
        product.category as category
    from latest
    where not product.is_delete

),

actual as (

    select
        product_id,
        price,
        inventory,
        category
    from {{ ref('products') }}

),

validation_errors as (

    (
        select
            product_id,
            price,
            inventory,
            category
        from expected
        except all
        select
            product_id,
            price,
            inventory,
            category
        from actual
    )
    union all
    (
        select
            product_id,
            price,
            inventory,
            category
        from actual
        except all
        select
            product_id,
            price,
            inventory,
            category
        from expected
    )

)

select
    product_id,
    price,
    inventory,
    category
from validation_errors
