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

validation_errors as (

    select
        'lost' as problem,
        lost.*
    from (select * from before except all select * from after) as lost
    union all
    select
        'added' as problem,
        added.*
    from (select * from after except all select * from before) as added

)

select * from validation_errors
