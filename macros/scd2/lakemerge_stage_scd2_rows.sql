{#
    Write the new content of the partitions that the changes touch, if there are any: the open ones anew, what is closed
    now beside the rest.

    Returns: whether anything was written.
#}
{%- macro lakemerge_stage_scd2_rows(txn, scd2, feed, versions, metrics) -%}
    {%- set changed = metrics['inserted'] + metrics['updated'] + metrics['deleted'] -%}
    {%- if not (changed or txn.rewrites_all or not scd2.exists) -%}
        {{- return(false) -}}
    {%- endif -%}
    {%- set old = txn.names_of(versions['old_partitions']) -%}
    {%- set touched = old + txn.names_of(versions['new_partitions']) -%}
    {%- if scd2.bitemporal -%}
        {%- for name in old -%}{%- do touched.append(scd2.layout.closes_into(name)) -%}{%- endfor -%}
    {%- endif -%}
    {%- if txn.rewrites_all -%}
        {%- set touched = touched + txn.base_partitions -%}
    {%- endif -%}
    {%- set merged = scd2.layout.to_merge(touched) -%}
    {%- if not txn.read(touched + merged) -%}
        {{- return(false) -}}
    {%- endif -%}
    {%- set sql = lakemerge_scd2_rows_sql(
        txn, scd2, txn.partition_filter(touched) if scd2.exists else none, merged,
        adapter.may_broadcast(feed['keys']), rebalance=txn.rebalances(touched + merged), change_files=1 + feed['keys'] // 1000000
    ) -%}
    {%- do txn.stage(sql, touched + merged, count=false) -%}
    {{- return(true) -}}
{%- endmacro -%}
