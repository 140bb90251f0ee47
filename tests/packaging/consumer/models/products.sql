{{
    config(
        materialized='incremental',
        incremental_strategy='merge',
        unique_key='product_id',
        sequence_by='changed_on',
        apply_as_deletes="operation = 'delete'",
        except_column_list=['operation'],
        partition_by=['category'],
    )
}}

select
    product_id,
    price,
    changed_on,
    operation,
    category
from {{ ref('product_changes') }}
where received_on <= {{ var('day') }}
{% if is_incremental() %}
    and received_on = {{ var('day') }}
{% endif %}
