{# dbt's append: the feed's rows are added, all at once. A table of the append kind then merges its small partitions. #}
{%- macro lakemerge_append(target, config) -%}
    {%- set outcome = namespace(response=none) -%}
    {%- for txn in adapter.transactions(target, model, config, 'append') -%}
        {%- set inserted = lakemerge_append_commit(txn) if txn.adds_commits else lakemerge_append_rewrite(txn) -%}
        {%- set outcome.response = adapter.commit_response('append', txn, {'inserted': inserted}) -%}
    {%- endfor -%}
    {%- do adapter.compact_commits(target, model, config, lakemerge_compacted_rows_sql) -%}
    {{- return(outcome.response) -}}
{%- endmacro -%}
