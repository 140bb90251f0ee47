with

source as (

    select
        *,
        _metadata.file_name as file_name
    from {{ source('products', 'product_changes') }}

),

-- Every line that was delivered, typed: repeated and late ones too, the merge sorts them out.
changes as (

    select
        -- ids
        upper(trim(product_id)) as product_id,

        -- attributes; an empty text is a missing value
        nullif(lower(trim(category)), '') as category,
        nullif(lower(trim(brand)), '') as brand,
        cast(price as decimal(10, 2)) as price,
        cast(inventory as int) as inventory,

        -- what the change is, and how new
        cast(ts as bigint) as ts,
        startswith(file_name, '{{ var("delete_file_prefix") }}') as is_delete,

        -- delivery
        to_date(regexp_extract(file_name, '[0-9]{4}-[0-9]{2}-[0-9]{2}', 0)) as feed_date,
        file_name
    from source

)

select * from changes
