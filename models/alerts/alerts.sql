{{
    config(
        materialized='incremental',
        append_layout='commit_partitioned',
        partition_by=['continent', 'country'],
    )
}}

select
    cast(split(line, ',')[0] as int) as id,
    split(line, ',')[1] as msg,
    split(line, ',')[2] as continent,
    split(line, ',')[3] as country
from {{ consume(ref('raw_alerts')) }}
where schema_error is null
