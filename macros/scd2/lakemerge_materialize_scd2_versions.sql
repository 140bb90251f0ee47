{# Compute `lakemerge_versions` once; returns what becomes of the stored versions, and the partitions that it touches. #}
{%- macro lakemerge_materialize_scd2_versions(txn, scd2, feed, scan, late, has_ledger) -%}
    {%- set broadcast = adapter.may_broadcast(feed['keys']) -%}
    {%- set truncates = has_ledger or feed['truncates'] > 0 -%}
    {%- set matched = lakemerge_scd2_matched_sql(scd2, scan, broadcast, late, feed['truncates'] > 0) if scd2.exists else none -%}
    {%- set remembered = lakemerge_scd2_remembered_sql(scd2, broadcast, feed['truncates'] > 0) if has_ledger else none -%}
    {%- set kept = 'exists(__stored, old -> old.__start = __start)' -%}
    {%- set counts = adapter.materialize(
        'lakemerge_versions',
        lakemerge_scd2_versions_sql(scd2, matched, remembered, truncates),
        {
            'inserted': 'count_if(__is_version and not ' ~ kept ~ ')',
            'updated': 'count_if(__is_version and not __is_same and ' ~ kept ~ ')',
            'deleted': 'coalesce(sum(size(__stored) - if(__is_version and ' ~ kept ~ ', 1, 0)), 0)',
            'ignored': 'coalesce(sum(__known_changes), 0)',
            'contradictions': 'count_if(__contradicts)',
            'remembered': 'coalesce(sum(size(__forgotten)), 0)',
            'old_partitions': 'flatten(collect_set(if(__is_same, null, transform(__stored, old -> old.__partition))))',
            'new_partitions': 'collect_set(if(__is_version and not __is_same, ' ~ lakemerge_scd2_partition_sql(scd2, '__row', '__end') ~ ', null))',
        }
    ) -%}
    {{- return(counts) -}}
{%- endmacro -%}
