{#
    What a merge leaves for later ones: the number of rows, and the highest sequence that the table has met, as a
    text of `sequence_metrics`.
#}
{%- macro lakemerge_merge_properties(merge, feed, rows) -%}
    {%- set properties = {'rows': rows} -%}
    {%- set highest = merge.highest_sequence(feed.get('max_sequence')) -%}
    {%- if highest -%}
        {%- do properties.update({
            'max_sequence': [highest],
            'sequence_by': merge.sequence,
            'sequence_order': merge.sequence_order,
        }) -%}
    {%- endif -%}
    {{- return(properties) -}}
{%- endmacro -%}
