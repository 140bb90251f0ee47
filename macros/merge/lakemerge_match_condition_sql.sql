{#
    The condition that a stored row (DBT_INTERNAL_DEST) and a change (DBT_INTERNAL_SOURCE) have the same key and the
    predicates hold.
#}
{%- macro lakemerge_match_condition_sql(merge) -%}
    {%- for key in merge.keys -%}
        DBT_INTERNAL_DEST.{{ key.quoted }} = DBT_INTERNAL_SOURCE._lakemerge_key_{{ loop.index }}{{ ' and ' if not loop.last }}
    {%- endfor -%}
    {%- for predicate in merge.predicates %} and ({{ predicate }}){% endfor -%}
{%- endmacro -%}
