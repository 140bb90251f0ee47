{{
    config(
        materialized='ingest',
        landing=var('landing_folder') ~ '/shop/*.json',
        format='json',
        settle_seconds=0,
        missing_fields='null',
        route_by='entity',
        routes={
            'order': {'table': 'shop_orders', 'deletes': "op = 'delete'"},
            'stock': 'shop_stock',
        },
        record_columns=['_file', '_line'],
    )
}}

{% do ref('shop_orders') %}
{% do ref('shop_stock') %}
