{#
    The columns that hold the key while a snapshot runs, named as dbt names them.

    Example: {{ lakemerge_snapshot_keys_sql(snapshot, 'source_data') }} gives `source_data.dbt_unique_key`.
#}
{%- macro lakemerge_snapshot_keys_sql(snapshot, prefix=none) -%}
    {%- for key in snapshot.keys -%}
        {{ prefix ~ '.' if prefix }}{{ key }}{{ ', ' if not loop.last }}
    {%- endfor -%}
{%- endmacro -%}
