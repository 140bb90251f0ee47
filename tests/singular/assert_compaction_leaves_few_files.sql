-- No more files than the number of rows asks for, however many files the rows came from.
with

rows_by_file as (

    select input_file_name() as file_name
    from {{ ref('product_change_log_compacted') }}

),

counts as (

    select
        count(distinct file_name) as files_found,
        greatest(1, ceil(count(*) / {{ var('rows_per_file') }})) as files_expected
    from rows_by_file

),

validation_errors as (

    select * from counts
    where files_found > files_expected

)

select * from validation_errors
