{#
    Read and commit one batch; the work is redone where another commit came first.

    Args:
        target: the relation.
        config: the model's WriteConfig.
        plan: how records become rows: an IngestPlan.
        batch: gets what was done: an IngestBatch.
        rebuild: put a new table in the place of what is there.
#}
{%- macro lakemerge_ingest_batch(target, config, plan, batch, rebuild) -%}
    {%- for txn in adapter.transactions(target, model, config, 'ingest', rebuild=rebuild) -%}
        {%- set arrivals = adapter.choose_files(txn, plan, batch) -%}
        {%- set counts = {'inserted': 0, 'files': plan.files | length, 'backlog': arrivals.backlog | length, 'changed': arrivals.changed | length} -%}
        {%- if not plan.files and txn.exists and not txn.changes_schema -%}
            {%- do txn.skip() -%}
        {%- else -%}
            {%- do counts.update(lakemerge_stage_records(txn, plan, target)) -%}
            {%- do adapter.record_files(txn, plan) -%}
            {%- set before = txn.rows_before -%}
            {%- do txn.commit(counts, {'rows': none if before is none else before + counts['inserted']}) -%}
        {%- endif -%}
        {%- do batch.end(txn, counts, arrivals) -%}
    {%- endfor -%}
{%- endmacro -%}
