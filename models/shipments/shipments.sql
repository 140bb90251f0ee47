{{
    config(
        materialized='ingest',
        landing=var('landing_folder') ~ '/shipments/*.csv',
        format='delimited',
        header=true,
        settle_seconds=0,
        extra_fields=var('shipments_extra_fields'),
        partition_by='warehouse',
        record_columns=['_file', '_line'],
    )
}}
