{#
    Add the feed's rows as new partitions, those of this commit; returns how many rows.

    Nothing is read and no partition is written anew, so appends never conflict. Only where stored files no longer fit
    the columns are they written again, each row to its commit's partition.
#}
{%- macro lakemerge_append_commit(txn) -%}
    {%- set kept = none -%}
    {%- if txn.rewrites_all -%}
        {%- do txn.read() -%}
        {%- set kept = lakemerge_kept_rows_sql(txn, txn.base_partitions) -%}
    {%- endif -%}
    {%- set staged = txn.stage(lakemerge_new_rows_sql(txn, kept)) -%}
    {%- set before = txn.rows_before -%}
    {%- set inserted = (0 if before is none else staged - before) if kept else staged -%}
    {%- if not staged and not txn.changes_schema -%}
        {%- do txn.skip() -%}
    {%- else -%}
        {%- do txn.commit({'inserted': inserted}, {'rows': none if before is none else before + inserted}) -%}
    {%- endif -%}
    {{- return(inserted) -}}
{%- endmacro -%}
