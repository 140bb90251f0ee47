{#
    The new content of the touched partitions: the stored rows that no change replaces, and the changed ones. Keys of
    inserts are replaced too, so that a row that another program wrote after the match is not doubled.

    Args:
        gathering: how the rows of a partition are gathered into few files: a Gathering. Where they are not, the changes
            add `change_files` small files to each partition.
        join: how the changes meet the stored rows; see `lakemerge_join_hint`.
        truncating: whether the feed holds a truncate, so that stored rows are ended by their sequence.
#}
{%- macro lakemerge_merged_rows_sql(merge, gathering, join, has_ledger, truncating, change_files) -%}
{%- for part in gathering.parts -%}
select {{ lakemerge_gather_hint(merge, gathering.hint) }}
    *
from (
    {%- if merge.exists %}
    {{ lakemerge_unreplaced_rows_sql(merge, part.filter, join, has_ledger, truncating) | indent(4) }}
    union all
    {%- endif %}
    {{ lakemerge_changed_rows_sql(merge, gathering.hint, change_files, part.changes) | indent(4) }}
)
{{ 'union all' if not loop.last }}
{% endfor -%}
{%- endmacro -%}
