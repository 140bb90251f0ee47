{# The changes in the columns of `lakemerge_resolved_changes_sql`, for feeds in which none can be late or repeated. #}
{%- macro lakemerge_unmatched_changes_sql(merge) -%}
select
    {{ lakemerge_keys_sql(merge) }},
    __sequence,
    __is_delete,
    __row as __new_row,
    if(__is_delete, 'delete', 'update') as __action
from lakemerge_latest
{%- endmacro -%}
