{# No two versions of a key are valid at the same time. #}
{% test history_has_no_overlaps(model, unique_key, start_at='__start_at', end_at='__end_at', current_end=none, known_to=none) -%}
with {{ lakemerge_bounded_versions_sql(model, unique_key, start_at, end_at, current_end, known_to) }}
select *
from versions
where version_before is not null and (version_before.ends_at is null or version_before.ends_at > starts_at)
{%- endtest %}
