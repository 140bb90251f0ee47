{#
    Merge the feed (`lakemerge_feed`) into a table, making the table where there is none.

    Args:
        target: the relation.
        config: the model's WriteConfig.
        rebuild: put a new table in the place of what is there.

    Returns: the response for dbt's result line.
#}
{%- macro lakemerge_merge(target, config, rebuild) -%}
    {%- set outcome = namespace(response=none) -%}
    {%- for txn in adapter.transactions(target, model, config, 'merge', rebuild=rebuild) -%}
        {%- set merge = adapter.merge_plan(txn) -%}
        {%- set feed = lakemerge_materialize_latest(merge) -%}
        {%- do lakemerge_check_changes(merge, config, feed) -%}
        {%- do lakemerge_check_sync(config, feed) -%}
        {%- set counts = lakemerge_stage(txn, merge, config, feed) -%}
        {%- set outcome.response = lakemerge_commit_merge(txn, merge, feed, counts) -%}
    {%- endfor -%}
    {{- return(outcome.response) -}}
{%- endmacro -%}
