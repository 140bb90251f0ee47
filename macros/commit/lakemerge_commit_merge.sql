{# Commit what an attempt to merge has staged, or end it without a version where there is nothing to write. #}
{%- macro lakemerge_commit_merge(txn, merge, feed, counts) -%}
    {%- if counts is none -%}
        {#- another program wrote meanwhile: the next attempt begins with what it left -#}
        {{- return(none) -}}
    {%- elif counts['writes'] -%}
        {%- do txn.commit(counts['metrics'], lakemerge_merge_properties(merge, feed, counts['rows'])) -%}
    {%- else -%}
        {%- do txn.skip() -%}
    {%- endif -%}
    {{- return(adapter.commit_response('merge', txn, counts['metrics'])) -}}
{%- endmacro -%}
