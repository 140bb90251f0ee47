{% set columns = ['product_id', 'brand', 'price', 'inventory', 'ts', 'category'] %}

with

products as (

    select {{ columns | join(', ') }} from {{ ref('product_master') }}

),

banded as (

    select {{ columns | join(', ') }} from {{ ref('product_master_by_price_band') }}

),

validation_errors as (

    select
        'without a band' as problem,
        missing.*
    from (select * from products except all select * from banded) as missing
    union all
    select
        'not in the master' as problem,
        surplus.*
    from (select * from banded except all select * from products) as surplus

)

select * from validation_errors
