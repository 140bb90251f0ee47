{#
    The stored rows whose key the feed has, or those whose key it lacks, in the columns and types that the table will
    have. A null in a key equals nothing. The predicates are about the stored rows alone, as in dbt's own statement:
    rows for which they are not true are treated as if the feed did not have their key.

    Args:
        partitions: names of the partitions to read; none for all.
        join: `left semi` for the rows whose key the feed has, `left anti` for the others.
#}
{%- macro lakemerge_rows_by_keys_sql(txn, merge, partitions, join) -%}
select
    {%- for column in txn.plan.columns %}
    {{ column.from_table }} as {{ column.quoted }}{{ ',' if not loop.last }}
    {%- endfor %}
from (
    select
        *,
        {{ '(' ~ merge.predicates | join(') and (') ~ ')' if merge.predicates else 'true' }} as _lakemerge_may_go
    from {{ txn.table }} as DBT_INTERNAL_DEST
    where {{ txn.partitions.filter(partitions) }}
) as stored
{{ join }} join lakemerge_kept_feed as DBT_INTERNAL_SOURCE
    on
        stored._lakemerge_may_go
        {%- for key in merge.keys %}
        and {{ key.stored('stored') }} = {{ key.compared('DBT_INTERNAL_SOURCE') }}
        {%- endfor %}
{%- endmacro -%}
