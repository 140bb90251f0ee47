{#
    Read the quarantined records of an ingest model again, by the options and columns that it has today. Those that keep
    all rules now become rows and leave the quarantine, in one commit.

        dbt run-operation lakemerge_replay --args '{model_name: alerts, where: "reason = ''bad_date''"}'

    Args:
        model_name: the ingest model.
        where: SQL over the quarantine's columns that chooses records; all if not given.
#}
{%- macro lakemerge_replay(model_name, where='true') -%}
    {%- if not execute -%}{{- return(none) -}}{%- endif -%}
    {%- set found = [] -%}
    {%- for node in graph.nodes.values() if node.resource_type == 'model' and node.name == model_name and node.config.materialized == 'ingest' -%}
        {%- do found.append(node) -%}
    {%- endfor -%}
    {%- if not found -%}
        {%- do adapter.raise_typed('InvalidConfig', 'an ingest model named ' ~ model_name, 'none in this project', 'Give the name of a model with `materialized: ingest`.') -%}
    {%- endif -%}
    {%- set node = found[0] -%}
    {%- set relation = api.Relation.create(schema=node.schema, identifier=node.alias, type='table') -%}
    {%- set response = adapter.ingest.replay(context, relation, node, where) -%}
    {%- do log(model_name ~ ': ' ~ (response if response is not none else 'there is nothing to replay'), info=true) -%}
    {{- return(response) -}}
{%- endmacro -%}
