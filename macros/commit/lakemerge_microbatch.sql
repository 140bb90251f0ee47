{#
    dbt's microbatch: the rows of the batch's time range are replaced by the feed's, all at once. A batch without rows
    still clears its range.

    The partitions need not have the batch's grain: those that hold rows of the range are written anew.
#}
{%- macro lakemerge_microbatch(target, config) -%}
    {%- set outcome = namespace(response=none) -%}
    {%- set in_range = lakemerge_batch_range_sql(model) -%}
    {%- for txn in adapter.transactions(target, model, config, 'microbatch') -%}
        {%- set feed = lakemerge_materialize_feed(txn) -%}
        {%- do txn.read() -%}
        {%- set deleted = 'select * from ' ~ txn.table ~ ' where ' ~ in_range if txn.exists else none -%}
        {%- set kept_sql = lakemerge_kept_rows_sql(txn, none, 'not coalesce(' ~ in_range ~ ', false)') -%}
        {%- set outcome.response = lakemerge_commit_replaced(txn, 'microbatch', feed, deleted, kept_sql) -%}
    {%- endfor -%}
    {{- return(outcome.response) -}}
{%- endmacro -%}
