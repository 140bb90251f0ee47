{#
    Merge the feed (`lakemerge_feed`) into a table, making the table where there is none.

    Args:
        target: the relation.
        config: the model's WriteConfig.
        rebuild: put a new table in the place of what is there.

    Returns: the response for dbt's result line.
#}
{%- macro lakemerge_merge(target, config, rebuild) -%}
    {%- set outcome = namespace(response=none, feed=none, columns=none) -%}
    {%- for txn in adapter.transactions(target, model, config, 'merge', rebuild=rebuild) -%}
        {%- set merge = adapter.merge_plan(txn) -%}
        {#- on a redo the feed's latest changes are read again only if the table has other columns by now -#}
        {%- if outcome.columns != merge.columns -%}
            {%- set outcome.columns = merge.columns -%}
            {%- set outcome.feed = lakemerge_materialize_latest(merge) -%}
            {%- do lakemerge_check_changes(merge, config, outcome.feed) -%}
            {%- do lakemerge_check_sync(config, outcome.feed) -%}
        {%- endif -%}
        {%- set counts = lakemerge_stage(txn, merge, config, outcome.feed) -%}
        {%- if counts['writes'] -%}
            {%- do txn.commit(counts['metrics'], lakemerge_merge_properties(merge, outcome.feed, counts['rows'])) -%}
        {%- else -%}
            {%- do txn.skip() -%}
        {%- endif -%}
        {%- set outcome.response = adapter.commit_response('merge', txn, counts['metrics']) -%}
    {%- endfor -%}
    {{- return(outcome.response) -}}
{%- endmacro -%}
