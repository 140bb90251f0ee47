with

before as (

    select count(distinct input_file_name()) as file_count
    from {{ ref('product_change_log') }}

),

after as (

    select count(distinct input_file_name()) as file_count
    from {{ ref('product_change_log_compacted') }}

),

validation_errors as (

    select
        before.file_count as files_before,
        after.file_count as files_after
    from before
    cross join after
    where after.file_count >= before.file_count

)

select * from validation_errors
