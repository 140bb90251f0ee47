{% set columns = [
    'product_id', 'category', 'brand', 'price', 'inventory', 'ts', 'is_delete', 'file_name',
    'feed_date',
] %}

with

before as (

    select {{ columns | join(', ') }} from {{ ref('product_change_log') }}

),

after as (

    select {{ columns | join(', ') }} from {{ ref('product_change_log_compacted') }}

),

lost as (

    select * from before
    except all
    select * from after

),

added as (

    select * from after
    except all
    select * from before

),

validation_errors as (

    select
        'lost' as problem,
        product_id
    from lost
    union all
    select
        'added' as problem,
        product_id
    from added

)

select * from validation_errors
