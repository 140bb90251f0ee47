{# The first versions of a new snapshot, from `lakemerge_changes`. #}
{%- macro lakemerge_first_versions_sql(snapshot) -%}
select {{ lakemerge_rebalance_hint(snapshot) }}
    {%- for column in snapshot.columns %}
    {{ '0' ~ ' as ' ~ column.quoted if column.name in (snapshot.layout.columns | map(attribute='name')) else column.quoted }}{{ ',' if not loop.last }}
    {%- endfor %}
from lakemerge_changes
{%- endmacro -%}
