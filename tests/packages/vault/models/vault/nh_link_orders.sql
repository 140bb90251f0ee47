{{ automate_dv.nh_link(
    src_pk='order_customer_hk', src_fk=['order_hk', 'customer_hk'], src_payload=['amount'], src_eff='effective_from',
    src_ldts='load_date', src_source='record_source', source_model='stg_orders',
) }}
