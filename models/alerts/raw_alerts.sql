{{
    config(
        materialized='incremental',
        append_layout='commit_partitioned',
    )
}}

with lines as (

    select
        value as line,
        regexp_extract(input_file_name(), '[^/]+$', 0) as file_name,
        split(value, ',') as parts
    from {{ consume(source('alerts', 'alert_lines'), on_rewrite='append_only') }}

)

select
    line,
    file_name,
    case
        when size(parts) <> 4 then concat('expected 4 fields, found ', size(parts))
        when try_cast(get(parts, 0) as int) is null then 'id is not an int'
        when get(parts, 2) = '' or get(parts, 3) = '' then 'continent or country is empty'
    end as schema_error
from lines
