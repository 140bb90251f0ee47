{{
    config(
        materialized='incremental',
        incremental_strategy='merge',
        unique_key='customer_id',
        sequence_by='changed_at',
        partition_by=['segment'],
        write_mode='merge_on_read',
        exact_counts=true,
        apply_as_deletes='is_delete',
        except_column_list=['is_delete'],
    )
}}

-- The changes of a day are of customers in all segments: they are written beside the table
select
    customer_id,
    name,
    street,
    city,
    segment,
    changed_at,
    is_delete
from {{ consume(ref('customer_changes')) }}
