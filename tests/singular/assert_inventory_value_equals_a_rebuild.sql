-- What is kept by increments is what the master would give if all were computed anew.
with

rebuilt as (

    select
        coalesce(category, 'unknown') as category,
        coalesce(brand, 'unknown') as brand,
        count(*) as product_count,
        coalesce(sum(inventory), 0) as unit_count,
        cast(coalesce(sum(price * inventory), 0) as decimal(18, 2)) as inventory_value,
        count_if(price is null or inventory is null) as unvalued_product_count
    from {{ ref('product_master') }}
    group by
        coalesce(category, 'unknown'),
        coalesce(brand, 'unknown')

),

missing as (

    select * from rebuilt
    except all
    select * from {{ ref('inventory_value') }}

),

extra as (

    select * from {{ ref('inventory_value') }}
    except all
    select * from rebuilt

),

validation_errors as (

    select
        'missing' as problem,
        category,
        brand
    from missing
    union all
    select
        'not in a rebuild' as problem,
        category,
        brand
    from extra

)

select * from validation_errors
