{# It reads the table that it replaces. Spark's own INSERT OVERWRITE, in pit_incremental, refuses that. #}
{{ config(incremental_strategy='insert_overwrite') }}
{{ automate_dv.pit(
    src_pk='customer_hk', as_of_dates_table='as_of_date',
    satellites={'sat_customer': {'pk': {'PK': 'customer_hk'}, 'ldts': {'LDTS': 'load_date'}}},
    stage_tables_ldts={'stg_orders': 'load_date'}, src_ldts='load_date', source_model='hub_customer',
) }}
