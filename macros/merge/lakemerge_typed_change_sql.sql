{# One change of the feed: its key, its row in the table's types, its place in the order, and what it does. #}
{%- macro lakemerge_typed_change_sql(merge) -%}
        {%- for key in merge.keys %}
        {{ key.from_feed }} as __key_{{ loop.index }},
        {%- endfor %}
        {{ lakemerge_change_row_sql(merge) }} as __row,
        {{ merge.sequence or '0' }} as __sequence,
        {%- if merge.change_order %}
        {{ merge.change_order }} as __order,
        {%- endif %}
        if({{ merge.null_sequence }}, 1, 0) as __null_sequence,
        coalesce({{ merge.deletes }}, false) as __is_delete,
        coalesce({{ merge.truncates }}, false) as __is_truncate
{%- endmacro -%}
