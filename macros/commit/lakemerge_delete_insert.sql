{#
    dbt's delete+insert: stored rows that have a key of the feed go, all rows of the feed come, all at once.

    Where the feed tells which partitions its keys are in, only those are read.
#}
{%- macro lakemerge_delete_insert(target, config) -%}
    {%- set outcome = namespace(response=none) -%}
    {%- for txn in adapter.transactions(target, model, config, 'delete+insert') -%}
        {%- set merge = adapter.merge_plan(txn) -%}
        {%- set feed = lakemerge_materialize_feed(txn) -%}
        {%- set scanned = feed['partitions'] if merge.partition_known and not txn.rewrites_all else none -%}
        {%- do txn.read(scanned) -%}
        {%- set outcome.response = lakemerge_commit_replaced(
            txn,
            'delete+insert',
            feed,
            lakemerge_rows_by_keys_sql(txn, merge, scanned, 'left semi') if txn.exists else none,
            lakemerge_rows_by_keys_sql(txn, merge, none, 'left anti'),
        ) -%}
    {%- endfor -%}
    {{- return(outcome.response) -}}
{%- endmacro -%}
