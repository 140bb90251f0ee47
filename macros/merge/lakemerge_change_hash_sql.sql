{#
    A hash that tells changes of one key apart; the row of a delete does not count.

    Args:
        columns: list of the MergeColumns by which rows differ.
    #}
{%- macro lakemerge_change_hash_sql(columns) -%}
xxhash64(
            __is_delete,
            if(__is_delete, null, {% if columns %}xxhash64({% for column in columns %}{{ column.hashed('__row') }}{{ ', ' if not loop.last }}{% endfor %}){% else %}0{% endif %})
        )
{%- endmacro -%}
