{{ automate_dv.ma_sat(
    src_pk='customer_hk', src_cdk=['phone'], src_hashdiff={'source_column': 'phone_hashdiff', 'alias': 'hashdiff'},
    src_payload=['country'], src_eff='effective_from', src_ldts='load_date', src_source='record_source',
    source_model='stg_orders',
) }}
