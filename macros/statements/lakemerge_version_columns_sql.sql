{# The internal columns of a stored version: whose it is, from when to when, and whether the table still stands by it. #}
{%- macro lakemerge_version_columns_sql(scd2) -%}
{%- for key in scd2.keys -%}
{{ key.plan.from_table }} as __key_{{ loop.index }},
{% endfor -%}
{{ scd2.start_at.from_table }} as __start,
{{ scd2.end_at.from_table }} as __end,
{{ scd2.known_to.quoted ~ ' is null' if scd2.bitemporal else 'true' }} as __stands
{%- endmacro -%}
