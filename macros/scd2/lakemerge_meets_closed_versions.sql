{#
    Whether closed versions have to be looked at. Not when every change is newer than all that the table has met; else
    the keys that are late are computed (the view `lakemerge_late`), from their open versions alone.
#}
{%- macro lakemerge_meets_closed_versions(scd2, feed, scan) -%}
    {%- if not scd2.exists or not scan['closed_partitions'] or feed['truncates'] -%}
        {{- return(false) -}}
    {%- endif -%}
    {%- if scd2.merge.is_above_all_known(feed.get('min_sequence')) -%}
        {{- return(false) -}}
    {%- endif -%}
    {%- set sql = lakemerge_scd2_late_keys_sql(scd2, scan, adapter.may_broadcast(feed['keys'])) -%}
    {%- set counts = adapter.materialize('lakemerge_late', sql, {'late': 'count(*)'}) -%}
    {{- return(counts['late'] > 0) -}}
{%- endmacro -%}
