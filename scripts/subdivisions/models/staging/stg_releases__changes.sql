with

source as (

    select * from {{ source('releases', 'subdivision_changes') }}

),

chosen as (

    select
        code,
        country,
        name,
        parent,
        is_delete,
        release,
        type
    from source
    where release in ({{ var('releases') | join(', ') }})

)

select * from chosen
