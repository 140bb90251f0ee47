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
        {%- set replaced = lakemerge_partitions_in_range(txn, in_range) if txn.exists else {'rows': 0, 'partitions': []} -%}
        {%- set touched = replaced['partitions'] + feed['partitions'] + (txn.base_partitions if txn.rewrites_all else []) -%}
        {%- if not touched and txn.exists and not txn.changes_schema -%}
            {%- do txn.skip() -%}
        {%- else -%}
            {%- set kept = lakemerge_kept_rows_sql(txn, touched, 'not coalesce(' ~ in_range ~ ', false)') if txn.exists else none -%}
            {%- do txn.stage(lakemerge_new_rows_sql(txn, kept, 'lakemerge_kept_feed'), touched) -%}
            {%- set before = txn.rows_before -%}
            {%- set rows = none if before is none else before + feed['rows'] - replaced['rows'] -%}
            {%- do txn.commit({'inserted': feed['rows'], 'deleted': replaced['rows']}, {'rows': rows}) -%}
        {%- endif -%}
        {%- set counts = {'inserted': feed['rows'], 'deleted': replaced['rows']} -%}
        {%- set outcome.response = adapter.commit_response('microbatch', txn, counts) -%}
    {%- endfor -%}
    {{- return(outcome.response) -}}
{%- endmacro -%}
