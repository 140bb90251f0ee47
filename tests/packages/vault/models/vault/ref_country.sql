{{ automate_dv.ref_table(src_pk='country', src_ldts='load_date', src_source='record_source', source_model='stg_orders') }}
