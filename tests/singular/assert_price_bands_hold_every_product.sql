{% set columns = ['product_id', 'brand', 'price', 'inventory', 'ts', 'category'] %}

with

products as (

    select {{ columns | join(', ') }} from {{ ref('product_master') }}

),

banded as (

    select {{ columns | join(', ') }} from {{ ref('product_master_by_price_band') }}

),

missing as (

    select * from products
    except all
    select * from banded

),

surplus as (

    select * from banded
    except all
    select * from products

),

validation_errors as (

    select
        'without a band' as problem,
        product_id
    from missing
    union all
    select
        'not in the master' as problem,
        product_id
    from surplus

)

select * from validation_errors
