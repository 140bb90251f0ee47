{# The new content of the partitions that a snapshot touches: the rows that stay, and `lakemerge_versions`. #}
{%- macro lakemerge_snapshot_rows_sql(txn, snapshot, strategy, touched, broadcast) -%}
select {{ lakemerge_rebalance_hint(snapshot) }}
    *
from (
    {{ lakemerge_kept_versions_sql(txn, snapshot, strategy, touched, broadcast) | indent(4) }}
    union all
    select * from lakemerge_versions
)
{%- endmacro -%}
