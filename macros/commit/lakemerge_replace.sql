{# Publish the feed (`lakemerge_feed`) as the whole content of a table, of whatever schema it was before. #}
{%- macro lakemerge_replace(target, config) -%}
    {%- set outcome = namespace(response=none) -%}
    {%- for txn in adapter.transactions(target, model, config, 'replace', rebuild=true) -%}
        {%- set rows = txn.stage(lakemerge_new_rows_sql(txn)) -%}
        {%- do txn.commit({'rows': rows}, {'rows': rows}) -%}
        {%- set outcome.response = adapter.commit_response('replace', txn, {'rows': rows}) -%}
    {%- endfor -%}
    {{- return(outcome.response) -}}
{%- endmacro -%}
