{#
    Commit the feed (`lakemerge_kept_feed`) in the place of some stored rows, which may lie in other partitions than it.

    Args:
        operation: what the commit is called.
        feed: the counts of `lakemerge_materialize_feed`.
        deleted_sql: the stored rows that go; none where there is no table yet.
        kept_sql: the stored rows that stay, of all partitions and in the table's new columns.

    Returns: the response for dbt's result line.
#}
{%- macro lakemerge_commit_replaced(txn, operation, feed, deleted_sql, kept_sql) -%}
    {%- set deleted = lakemerge_partitions_of(txn, deleted_sql) if deleted_sql else {'rows': 0, 'partitions': []} -%}
    {%- set counts = {'inserted': feed['rows'], 'deleted': deleted['rows']} -%}
    {%- set touched = deleted['partitions'] + feed['partitions'] + (txn.base_partitions if txn.rewrites_all else []) -%}
    {%- if not touched and txn.exists and not txn.changes_schema -%}
        {%- do txn.skip() -%}
    {%- else -%}
        {%- set kept -%}
            select * from ({{ kept_sql }}) where {{ txn.partition_filter(touched) }}
        {%- endset -%}
        {%- do txn.stage(lakemerge_new_rows_sql(txn, kept if deleted_sql else none, 'lakemerge_kept_feed'), touched) -%}
        {%- set before = txn.rows_before -%}
        {%- do txn.commit(counts, {'rows': none if before is none else before + feed['rows'] - deleted['rows']}) -%}
    {%- endif -%}
    {{- return(adapter.commit_response(operation, txn, counts)) -}}
{%- endmacro -%}
