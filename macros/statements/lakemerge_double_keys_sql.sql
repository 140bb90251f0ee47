{#
    Up to five keys that more than one row would have after a statement.

    Args:
        moves_keys: whether updated rows may get another key.
#}
{%- macro lakemerge_double_keys_sql(txn, merge, moves_keys) -%}
select {% for key in merge.keys %}{{ key.quoted }}{{ ', ' if not loop.last }}{% endfor %}
from (
    select {% for key in merge.keys %}__new_row.{{ key.quoted }} as {{ key.quoted }}, {% endfor %}1 as is_new
    from lakemerge_changed
    where __action = 'insert'{{ " or __action = 'update'" if moves_keys }}
    union all
    select {% for key in merge.keys %}stored.{{ key.quoted }}, {% endfor %}0 as is_new
    from (
        select {% for key in merge.keys %}{{ key.plan.from_table }} as {{ key.quoted }}{{ ', ' if not loop.last }}{% endfor %} from {{ merge.table }}
    ) as stored
    left anti join (
        select {{ lakemerge_keys_sql(merge) }} from lakemerge_changed where __action = 'delete'{{ " or __action = 'update'" if moves_keys }}
    ) as gone
        on {% for key in merge.keys %}stored.{{ key.quoted }} = gone.__key_{{ loop.index }}{{ ' and ' if not loop.last }}{% endfor %}
)
group by {% for key in merge.keys %}{{ key.quoted }}{{ ', ' if not loop.last }}{% endfor %}

having count(*) > 1 and max(is_new) = 1
limit 5
{%- endmacro -%}
