{#
    dbt's insert_overwrite: the partitions that the feed has rows for are replaced, all at once; without partition_by
    the whole table is.
#}
{%- macro lakemerge_insert_overwrite(target, config) -%}
    {%- set outcome = namespace(response=none) -%}
    {%- for txn in adapter.transactions(target, model, config, 'insert_overwrite') -%}
        {%- if txn.rewrites_all -%}
            {#- stored files do not fit the new columns: those of the other partitions are written anew -#}
            {%- set feed = lakemerge_materialize_feed(txn) -%}
            {%- do txn.read() -%}
            {%- set others = txn.base_partitions | reject('in', feed['partitions']) | list -%}
            {%- set kept = lakemerge_kept_rows_sql(txn, others) if others else none -%}
            {%- set rows = txn.stage(lakemerge_new_rows_sql(txn, kept, 'lakemerge_kept_feed')) -%}
        {%- else -%}
            {%- set rows = txn.stage(lakemerge_new_rows_sql(txn)) -%}
        {%- endif -%}
        {%- if not rows and txn.exists and txn.partitioned and not txn.changes_schema -%}
            {%- do txn.skip() -%}
        {%- else -%}
            {%- do txn.commit({'rows': rows}, {'rows': none if txn.partitioned else rows}) -%}
        {%- endif -%}
        {%- set outcome.response = adapter.commit_response('insert_overwrite', txn, {'rows': rows}) -%}
    {%- endfor -%}
    {{- return(outcome.response) -}}
{%- endmacro -%}
