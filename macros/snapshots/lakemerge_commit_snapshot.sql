{#
    Write what a snapshot changes, and commit it; nothing where nothing changes.

    Returns: counts by name.
#}
{%- macro lakemerge_commit_snapshot(txn, snapshot, strategy, changes) -%}
    {%- set counts = {'inserted': changes['inserted'], 'updated': changes['updated'], 'deleted': changes['deleted']} -%}
    {%- set changed = counts['inserted'] + counts['updated'] + counts['deleted'] -%}
    {%- if not changed and not txn.changes_schema -%}
        {%- do txn.skip() -%}
        {{- return(counts) -}}
    {%- endif -%}
    {%- if changed or txn.rewrites_all -%}
        {%- set versions = lakemerge_materialize_versions(txn, snapshot, strategy, counts) -%}
        {%- set touched = lakemerge_touched_versions(txn, snapshot, changes['partitions'] + versions['partitions']) -%}
        {%- do txn.read(touched) -%}
        {%- set sql -%}
            select {{ lakemerge_rebalance_hint(snapshot) }}
                *
            from (
                {{ lakemerge_kept_versions_sql(txn, snapshot, strategy, touched, adapter.may_broadcast(changed)) | indent(16) }}
                union all
                select * from lakemerge_versions
            )
        {%- endset -%}
        {%- do txn.stage(sql, touched, count=false) -%}
    {%- endif -%}
    {%- set begun = counts['inserted'] + counts['updated'] + (counts['deleted'] if snapshot.marks_deletes else 0) -%}
    {%- set before = txn.rows_before -%}
    {%- set ended = 0 if snapshot.marks_deletes else counts['deleted'] -%}
    {%- do txn.commit(counts, snapshot.properties(none if before is none else before + begun, ended)) -%}
    {{- return(counts) -}}
{%- endmacro -%}
