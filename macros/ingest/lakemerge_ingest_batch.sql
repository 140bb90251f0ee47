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
        {%- set arrivals = adapter.choose_arrivals(txn, plan, batch) -%}
        {%- set counts = dict(arrivals.counts, inserted=0) -%}
        {%- if arrivals.is_empty and txn.exists and not txn.changes_schema -%}
            {%- do txn.skip() -%}
        {%- else -%}
            {%- do counts.update(lakemerge_stage_records(txn, plan, target)) -%}
            {%- do adapter.record_arrivals(txn, plan, arrivals) -%}
            {%- set before = txn.rows_before -%}
            {%- do txn.commit(counts, {'rows': none if before is none else before + counts['inserted']}) -%}
        {%- endif -%}
        {%- do batch.end(txn, counts, arrivals) -%}
    {%- endfor -%}
{%- endmacro -%}
