{#
    Read the files that have landed since, or what topics have since, and commit the records and how far was read
    together: in one batch, or in as many as the model's trigger asks for.

    Args:
        target: the relation.
        config: the model's WriteConfig.
        rebuild: put a new table in the place of what is there, of all files.

    Returns: the response for dbt's result line.
#}
{%- macro lakemerge_ingest(target, config, rebuild) -%}
    {%- set plan = adapter.ingest_plan(model) -%}
    {%- do adapter.check_quarantine(target) -%}
    {%- set batches = adapter.ingest_batches(target, plan) -%}
    {%- for batch in batches -%}
        {%- do lakemerge_ingest_batch(target, config, plan, batch, rebuild and batch.is_first) -%}
        {%- if batch.is_first or batch.version is not none -%}
            {%- do adapter.compact_commits(target, model, config, lakemerge_compacted_rows_sql) -%}
            {%- do lakemerge_create_quarantine_view(target) -%}
        {%- endif -%}
    {%- endfor -%}
    {{- return(adapter.ingest_response('ingest', batches, batches.counts)) -}}
{%- endmacro -%}
