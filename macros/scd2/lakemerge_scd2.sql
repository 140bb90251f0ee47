{#
    Merge the feed (`lakemerge_feed`) into a table that keeps the history of each key, making the table where there
    is none: one row for each version of a key, with the sequences that it begins and ends with.

    Args:
        target: the relation.
        config: the model's WriteConfig.
        rebuild: put a new table in the place of what is there.

    Returns: the response for dbt's result line.
#}
{%- macro lakemerge_scd2(target, config, rebuild) -%}
    {%- set outcome = namespace(response=none) -%}
    {%- for txn in adapter.transactions(target, model, config, 'merge', rebuild=rebuild) -%}
        {%- set scd2 = adapter.scd2_plan(txn) -%}
        {%- set feed = lakemerge_materialize_scd2_changes(scd2) -%}
        {%- do lakemerge_check_changes(scd2.merge, config, feed, 'lakemerge_changes') -%}
        {%- set counts = lakemerge_stage_scd2(txn, scd2, config, feed) -%}
        {%- set outcome.response = lakemerge_commit_merge(txn, scd2.merge, feed, counts) -%}
    {%- endfor -%}
    {{- return(outcome.response) -}}
{%- endmacro -%}
