{{ automate_dv.stage(
    include_source_columns=true,
    source_model='raw_day',
    derived_columns={
        'record_source': '!SHOP',
        'effective_from': 'load_date',
        'start_date': 'load_date',
        'end_date': "to_date('9999-12-31')",
        'sat_name': '!SAT_CUSTOMER',
    },
    hashed_columns={
        'customer_hk': 'customer_id',
        'order_hk': 'order_id',
        'order_customer_hk': ['order_id', 'customer_id'],
        'customer_hashdiff': {'is_hashdiff': true, 'columns': ['customer_name', 'country']},
        'phone_hashdiff': {'is_hashdiff': true, 'columns': ['phone']},
    },
) }}
