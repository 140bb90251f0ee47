{{ automate_dv.sat(
    src_pk='customer_hk', src_hashdiff={'source_column': 'customer_hashdiff', 'alias': 'hashdiff'},
    src_payload=['customer_name', 'country'], src_eff='effective_from', src_ldts='load_date',
    src_source='record_source', source_model='stg_orders',
) }}
