{#
    Write what a merge changes: the new content of the touched partitions, and the ledger.

    Returns: `metrics` and the number of `rows` after it (none where it is not known); or none if nothing changes.
#}
{%- macro lakemerge_stage_merge(txn, merge, resolved, has_ledger) -%}
    {%- set metrics = resolved['metrics'] -%}
    {%- set ends_absent = merge.exists and (merge.syncs or resolved['truncates'] > 0) -%}
    {%- set absent = adapter.rows_of(lakemerge_absent_rows_sql(merge, has_ledger))[0] if ends_absent else none -%}
    {%- if absent is not none -%}
        {%- do metrics.update({'deleted': metrics['deleted'] + absent['row_count']}) -%}
    {%- endif -%}
    {%- set changed = metrics['inserted'] + metrics['updated'] + metrics['deleted'] -%}
    {%- set remembered = lakemerge_stages_ledger(merge, resolved, absent, has_ledger) -%}
    {%- if not (changed or remembered or txn.changes_schema or not merge.exists) -%}
        {{- return(none) -}}
    {%- endif -%}
    {%- if changed or txn.rewrites_all or not merge.exists -%}
        {%- set touched = lakemerge_touched_partitions(txn, resolved, absent) -%}
        {%- set kept = txn.partition_filter(touched) if merge.exists else none -%}
        {%- set sql = lakemerge_merged_rows_sql(
            merge, kept, adapter.may_broadcast(resolved['keys']), has_ledger,
            truncating=resolved['truncates'] > 0, rebalance=txn.rebalances(touched), change_files=1 + resolved['keys'] // 1000000
        ) -%}
        {%- do txn.stage(sql, touched, count=false, filled=txn.names_of(resolved['new_partitions'])) -%}
    {%- endif -%}
    {%- if remembered -%}
        {%- do lakemerge_stage_ledger(txn, merge) -%}
    {%- endif -%}
    {{- return({'metrics': metrics, 'rows': lakemerge_rows_after(txn, merge, metrics)}) -}}
{%- endmacro -%}
