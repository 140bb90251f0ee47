{# Each version of a key begins where the one before ends: for sources in which nothing is deleted and put back. #}
{% test history_has_no_gaps(model, unique_key, start_at='__start_at', end_at='__end_at', current_end=none, known_to=none) -%}
with {{ lakemerge_bounded_versions_sql(model, unique_key, start_at, end_at, current_end, known_to) }}
select *
from versions
where version_before is not null and version_before.ends_at < starts_at
{%- endtest %}
