{# A hash that distinguishes changes of a key with the same sequence; the row of a delete does not count. #}
{%- macro lakemerge_scd2_hash_sql(scd2) -%}
xxhash64(
            __is_delete,
            if(__is_delete, null, xxhash64({% for column in scd2.merge.columns %}{{ column.compared('__row') }}{{ ', ' if not loop.last }}{% endfor %}))
        )
{%- endmacro -%}
