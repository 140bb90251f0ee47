{{
    config(
        materialized='incremental',
        incremental_strategy='merge',
        unique_key='product_id',
        sequence_by='ts',
        apply_as_deletes='is_delete',
        except_column_list=['is_delete'],
        partition_by=['category'],
    )
}}

select
    product_id,
    price,
    inventory,
    ts,
    is_delete,
    category
from {{ ref('product_changes') }}
