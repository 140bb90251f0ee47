{{ automate_dv.xts(
    src_pk='customer_hk',
    src_satellite={'sat_customer': {'sat_name': {'SATELLITE_NAME': 'sat_name'}, 'hashdiff': {'HASHDIFF': 'customer_hashdiff'}}},
    src_ldts='load_date', src_source='record_source', source_model='stg_orders',
) }}
