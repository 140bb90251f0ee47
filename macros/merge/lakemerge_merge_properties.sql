{#
    What a merge leaves for later ones: the number of rows, and the highest sequence that the table has met, as the
    text of `MergePlan.sequence_metrics`.
#}
{%- macro lakemerge_merge_properties(merge, feed, rows) -%}
    {%- set properties = {'rows': rows} -%}
    {%- if feed.get('max_sequence') -%}
        {%- do properties.update({'max_sequence': [feed['max_sequence']], 'sequence_by': merge.sequence}) -%}
    {%- endif -%}
    {{- return(properties) -}}
{%- endmacro -%}
