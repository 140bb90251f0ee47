{#
    Aggregates over `lakemerge_versions`, by name: the number of stored versions by action, and the partitions
    touched.
#}
{%- macro lakemerge_scd2_version_counts(scd2) -%}
    {%- set kept = 'exists(__stored, old -> old.__start = __start)' -%}
    {{- return({
        'inserted': 'count_if(__is_version and not ' ~ kept ~ ')',
        'updated': 'count_if(__is_version and not __is_same and ' ~ kept ~ ')',
        'deleted': 'coalesce(sum(size(__stored) - if(__is_version and ' ~ kept ~ ', 1, 0)), 0)',
        'ignored': 'coalesce(sum(__known_changes), 0)',
        'contradictions': 'count_if(__contradicts)',
        'remembered': 'coalesce(sum(size(__forgotten)), 0)',
        'old_partitions': 'flatten(collect_set(if(__is_same, null, transform(__stored, old -> old.__partition))))',
        'new_partitions': 'collect_set(if(__is_version and not __is_same, ' ~ lakemerge_scd2_partition_sql(scd2, '__row', '__end') ~ ', null))',
    }) -}}
{%- endmacro -%}
