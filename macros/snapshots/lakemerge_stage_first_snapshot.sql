{#
    Write the source's rows as the first versions of their keys, looking at the keys as they are written.

    Returns: counts by name.
#}
{%- macro lakemerge_stage_first_snapshot(txn, snapshot, strategy) -%}
    {%- set source -%}
        select
            *,
            case
                when {% for key in snapshot.keys %}{{ key }} is null{{ ' or ' if not loop.last }}{% endfor %} then 'null key'
                when __source_rows > 1 then 'duplicate'
                else 'insert'
            end as __action
        from ({{ lakemerge_source_rows_sql(snapshot, strategy) }})
    {%- endset -%}
    {%- set observed = adapter.observe_view('lakemerge_changes', source, lakemerge_snapshot_metrics()) -%}
    {%- do txn.stage(lakemerge_first_versions_sql(snapshot), count=false) -%}
    {%- set counts = observed.get -%}
    {%- do lakemerge_check_snapshot(snapshot, counts) -%}
    {{- return({'inserted': counts['inserted'], 'updated': 0, 'deleted': 0}) -}}
{%- endmacro -%}
