{{ config(is_auto_end_dating=true) }}
{{ automate_dv.eff_sat(
    src_pk='order_customer_hk', src_dfk='order_hk', src_sfk='customer_hk', src_start_date='start_date',
    src_end_date='end_date', src_eff='effective_from', src_ldts='load_date', src_source='record_source',
    source_model='stg_orders',
) }}
