select
    code,
    country,
    name,
    parent,
    is_delete,
    release,
    type
from {{ ref('stg_releases__changes') }}
