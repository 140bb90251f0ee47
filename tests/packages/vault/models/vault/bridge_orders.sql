{{ config(incremental_strategy='insert_overwrite') }}
{{ automate_dv.bridge(
    src_pk='order_hk', as_of_dates_table='as_of_date',
    bridge_walk={
        'order_customer': {
            'bridge_link_pk': 'link_order_customer_pk',
            'bridge_end_date': 'eff_sat_order_customer_enddate',
            'bridge_load_date': 'eff_sat_order_customer_loaddate',
            'link_table': 'link_order_customer',
            'link_pk': 'order_customer_hk',
            'link_fk1': 'order_hk',
            'link_fk2': 'customer_hk',
            'eff_sat_table': 'eff_sat_order_customer',
            'eff_sat_pk': 'order_customer_hk',
            'eff_sat_end_date': 'end_date',
            'eff_sat_load_date': 'load_date',
        },
    },
    stage_tables_ldts={'stg_orders': 'load_date'}, src_ldts='load_date', source_model='hub_order',
) }}
