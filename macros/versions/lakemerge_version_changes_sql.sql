{#
    The rows of `lakemerge_version_pairs_sql`, one below the other, with `_change_type` by the names of Delta and Spark.

    Args:
        comparison: the Comparison.
        preimages: whether updated rows are also given as they were.
        pairs: a view of the pairs.
#}
{%- macro lakemerge_version_changes_sql(comparison, preimages, pairs) -%}
select change.side_row.*, change.change_type as _change_type
from (
    select explode(case
        when pre is null then array(named_struct('change_type', 'insert', 'side_row', post))
        when post is null then array(named_struct('change_type', 'delete', 'side_row', pre))
        else array(
            {%- if preimages %}
            named_struct('change_type', 'update_preimage', 'side_row', pre),
            {%- endif %}
            named_struct('change_type', 'update_postimage', 'side_row', post)
        )
    end) as change
    from {{ pairs }}
)
{%- endmacro -%}
