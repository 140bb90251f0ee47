{#
    Print the compactions of tables, the newest first: what is requested, running, done and failed.

        dbt run-operation lakemerge_compactions --args '{select: product_master, limit: 10}'

    Args:
        select: as in `lakemerge_compact`.
        limit: how many compactions of each table.
#}
{%- macro lakemerge_compactions(select='*', limit=20) -%}
    {%- if not execute -%}{{- return(none) -}}{%- endif -%}
    {%- set records = [] -%}
    {%- for chosen in lakemerge_selected_tables(select) -%}
        {%- for one in adapter.compaction.log(chosen.relation, limit) -%}
            {%- do records.append(one) -%}
            {%- do log(
                '%-30s %-9s %-11s %s  %s seconds, %s of %s parts, %s files became %s, %s bytes became %s, %s left  %s  %s' | format(
                    one.table, one.state, one.action, one.started_at or one.requested_at, one.seconds if one.seconds is not none else '?', one.done, one.groups,
                    one.files_before, one.files_after, one.bytes_before, one.bytes_after, one.left, one.reason,
                    one.error or one.by
                ),
                info=true
            ) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- if not records -%}{%- do log('no compaction was requested yet', info=true) -%}{%- endif -%}
    {{- return(records) -}}
{%- endmacro -%}
