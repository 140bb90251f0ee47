{# The stored rows of the touched partitions that stay as they are. #}
{%- macro lakemerge_scd2_kept_rows_sql(scd2, filter, broadcast) -%}
select {{ '/*+ broadcast(replaced) */' if broadcast }}
    {%- for column in scd2.columns %}
    {{ column.from_table }} as {{ column.quoted }}{{ ',' if not loop.last }}
    {%- endfor %}
from (
    select
        *,
        {%- for key in scd2.keys %}
        {{ key.plan.from_table }} as _lakemerge_key_{{ loop.index }},
        {%- endfor %}
        {{ scd2.start_at.from_table }} as _lakemerge_start
    from {{ scd2.merge.table }}
    where {{ filter }}
) as stored
left anti join (
    select
        {{ lakemerge_keys_sql(scd2.merge) }},
        old.__start
    from lakemerge_versions
    lateral view explode(__stored) exploded as old
    where not __is_same
) as replaced
    on {% for key in scd2.keys %}stored._lakemerge_key_{{ loop.index }} = replaced.__key_{{ loop.index }} and {% endfor %}stored._lakemerge_start = replaced.__start
        {%- if scd2.bitemporal %}
        and stored.{{ scd2.known_to.quoted }} is null
        {%- endif %}
{%- endmacro -%}
