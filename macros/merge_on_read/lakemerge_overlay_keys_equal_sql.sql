{# SQL that is true where two relations have the same key. #}
{%- macro lakemerge_overlay_keys_equal_sql(txn, one, other) -%}
{%- for key in txn.overlay.keys -%}
{{ one }}.{{ adapter.quote(key) }} = {{ other }}.{{ adapter.quote(key) }}{{ ' and ' if not loop.last }}
{%- endfor -%}
{%- endmacro -%}
