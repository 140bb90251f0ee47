{#
    Read the files that have landed since, and commit their records and the list of the files together.

    Args:
        target: the relation.
        config: the model's WriteConfig.
        rebuild: put a new table in the place of what is there, of all files.

    Returns: the response for dbt's result line.
#}
{%- macro lakemerge_ingest(target, config, rebuild) -%}
    {%- set plan = adapter.ingest_plan(model) -%}
    {%- do adapter.check_quarantine(target) -%}
    {%- set outcome = namespace(response=none) -%}
    {%- for txn in adapter.transactions(target, model, config, 'ingest', rebuild=rebuild) -%}
        {%- set arrivals = adapter.choose_files(txn, plan) -%}
        {%- set counts = {'inserted': 0, 'files': plan.files | length, 'backlog': arrivals.backlog | length, 'changed': arrivals.changed | length} -%}
        {%- if not plan.files and txn.exists and not txn.changes_schema -%}
            {%- do txn.skip() -%}
        {%- else -%}
            {%- do counts.update(lakemerge_stage_records(txn, plan, target)) -%}
            {%- do adapter.record_files(txn, plan) -%}
            {%- set before = txn.rows_before -%}
            {%- do txn.commit(counts, {'rows': none if before is none else before + counts['inserted']}) -%}
        {%- endif -%}
        {%- set outcome.response = adapter.ingest_response('ingest', txn, counts) -%}
    {%- endfor -%}
    {%- do adapter.compact_commits(target, model, config, lakemerge_compacted_rows_sql) -%}
    {{- return(outcome.response) -}}
{%- endmacro -%}
