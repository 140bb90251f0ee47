{#
    Write the rows of the chosen records, and the rejected ones to quarantine.

    Checks are made while rows are written; only files that hold rejected records are read again, for the reasons, and
    of these only records with the marks of rejected ones are taken apart.

    Returns: how many were `inserted`, `quarantined`, `dropped`.
#}
{%- macro lakemerge_stage_records(txn, plan, target) -%}
    {%- if txn.rewrites_all -%}{%- do txn.read() -%}{%- endif -%}
    {%- set kept = lakemerge_kept_rows_sql(txn, txn.base_partitions) if txn.rewrites_all else none -%}
    {%- if not plan.groups -%}
        {%- if kept -%}{%- do txn.stage(lakemerge_accepted_rows_sql(txn, plan, kept), count=false) -%}{%- endif -%}
        {{- return({'inserted': 0}) -}}
    {%- endif -%}
    {%- set observation = adapter.observe_view('lakemerge_records', lakemerge_observed_records_sql(plan), {
        'records': 'count(*)', 'rejected': 'count_if(not __ok)', 'bad_files': 'collect_set(__bad_file)', 'bad_marks': 'collect_set(__bad_mark)'
    }) -%}
    {%- set found = txn.stage_records(lakemerge_accepted_rows_sql(txn, plan, kept), observation, rewrites=kept is not none) -%}
    {%- set counts = {'inserted': found['records'] - found['rejected']} -%}
    {%- if found['rejected'] -%}
        {%- do adapter.open_rejected(plan, found['bad_files'], found['bad_marks']) -%}
        {%- set rejected = lakemerge_rejected_records_sql(plan) -%}
        {%- do adapter.check_rejected(target, plan, found['records'], found['rejected'], rejected) -%}
        {%- if plan.options.on_bad_record == 'quarantine' -%}
            {%- do txn.stage_quarantine(rejected, found['rejected']) -%}
            {%- do counts.update({'quarantined': found['rejected']}) -%}
        {%- else -%}
            {%- do counts.update({'dropped': found['rejected']}) -%}
        {%- endif -%}
    {%- endif -%}
    {{- return(counts) -}}
{%- endmacro -%}
