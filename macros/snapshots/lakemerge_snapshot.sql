{#
    Take the source's present state (`lakemerge_feed`) into a snapshot's table, making the table where there is none.

    Returns: the response for dbt's result line.
#}
{%- macro lakemerge_snapshot(target, options) -%}
    {%- set outcome = namespace(response=none) -%}
    {%- for txn in adapter.transactions(target, model, options, 'snapshot') -%}
        {#- asked in every attempt, for another run may have made the table, or given it columns -#}
        {%- set strategy = lakemerge_snapshot_strategy(txn.exists) -%}
        {%- set snapshot = adapter.snapshot_plan(
            txn, strategy, lakemerge_snapshot_column_names(), config.get('dbt_valid_to_current'), snapshot_get_time()
        ) -%}
        {%- if not txn.exists -%}
            {%- set counts = lakemerge_stage_first_snapshot(txn, snapshot, strategy) -%}
            {%- do txn.commit(counts, snapshot.properties(counts['inserted'], 0)) -%}
            {%- set outcome.response = adapter.commit_response('snapshot', txn, counts) -%}
        {%- elif txn.read(snapshot.reads) -%}
            {#- a key that has no current row depends on every partition, those that are not there yet too -#}
            {%- do txn.follow_directly() -%}
            {%- do lakemerge_check_adopted_snapshot(txn, snapshot) -%}
            {%- set changes = lakemerge_materialize_changes(txn, snapshot, strategy) -%}
            {%- set counts = lakemerge_commit_snapshot(txn, snapshot, strategy, changes) -%}
            {%- set outcome.response = adapter.commit_response('snapshot', txn, counts) -%}
        {%- endif -%}
    {%- endfor -%}
    {{- return(outcome.response) -}}
{%- endmacro -%}
