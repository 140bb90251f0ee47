{# The columns by which the view of a table that is merged on read merges. #}
{%- macro lakemerge_overlay_keys_sql(txn) -%}
{%- for key in txn.overlay.keys -%}
{{ adapter.quote(key) }}{{ ', ' if not loop.last }}
{%- endfor -%}
{%- endmacro -%}
