{{
    config(
        materialized='incremental',
        incremental_strategy='merge',
        unique_key='customer_id',
        sequence_by='changed_at',
        apply_as_deletes='is_delete',
        except_column_list=['is_delete', 'changed_at'],
        stored_as_scd_type=2,
        track_history_except_column_list=['name'],
    )
}}

-- A name is corrected, not changed: the version that is valid then gets it, and no new one begins.
select
    customer_id,
    name,
    street,
    city,
    segment,
    changed_at,
    is_delete
from {{ consume(ref('customer_changes')) }}
