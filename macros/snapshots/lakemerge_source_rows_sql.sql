{#
    The source's rows in the table's types, with their keys, and _lakemerge_source_rows: the number of rows with that key. The
    count needs no shuffle besides the one for the comparison with the table.
#}
{%- macro lakemerge_source_rows_sql(snapshot, strategy) -%}
select
    *,
    count(*) over (partition by {{ lakemerge_snapshot_keys_sql(snapshot) }}) as _lakemerge_source_rows
from (
    select
        *,
        {{ unique_key_fields(strategy.unique_key) }}
    from lakemerge_typed_feed
)
{%- endmacro -%}
