{{
    config(
        materialized='incremental',
        append_layout='commit_partitioned',
    )
}}

select
    line,
    file_name,
    schema_error
from {{ consume(ref('raw_alerts')) }}
where schema_error is not null
