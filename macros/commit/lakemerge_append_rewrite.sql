{#
    Add the feed's rows to the partitions that they belong to; returns how many.

    A partition has one directory, so those that rows are added to are written anew with them: partition by a
    column that new rows share (a date) to keep that small.
#}
{%- macro lakemerge_append_rewrite(txn) -%}
    {%- set feed = lakemerge_materialize_feed(txn) -%}
    {%- if not feed['rows'] and not txn.changes_schema and txn.exists -%}
        {%- do txn.skip() -%}
    {%- else -%}
        {%- set touched = txn.base_partitions if txn.rewrites_all else feed['partitions'] -%}
        {%- do txn.read(touched) -%}
        {%- set kept = lakemerge_kept_rows_sql(txn, touched) if txn.exists else none -%}
        {%- if feed['rows'] or txn.rewrites_all or not txn.exists -%}
            {%- do txn.stage(lakemerge_new_rows_sql(txn, kept, 'lakemerge_kept_feed')) -%}
        {%- endif -%}
        {%- set before = txn.rows_before -%}
        {%- do txn.commit({'inserted': feed['rows']}, {'rows': none if before is none else before + feed['rows']}) -%}
    {%- endif -%}
    {{- return(feed['rows']) -}}
{%- endmacro -%}
