{{
    config(
        materialized='incremental',
        incremental_strategy='merge',
        unique_key='customer_id',
        sequence_by='changed_at',
        apply_as_deletes='is_delete',
        except_column_list=['is_delete'],
    )
}}

select
    customer_id,
    name,
    street,
    city,
    segment,
    changed_at,
    is_delete
from {{ consume(ref('customer_changes')) }}
