{#
    dbt's clone: a table's rows are copied and published in one commit; for anything else, a view is made. The var
    `lakemerge_clone_at` says of which version, by the arguments of `version_of`; by default of the newest.
#}
{% materialization clone, adapter='lakemerge' -%}
    {%- set existing = load_cached_relation(this) -%}
    {%- set source = load_cached_relation(defer_relation) if defer_relation else none -%}
    {%- set target = this.incorporate(type='table') -%}

    {%- if not defer_relation -%}
        {%- do log('No relation found in state manifest for ' ~ model.unique_id, info=true) -%}
        {{ return({'relations': []}) }}
    {%- elif existing and not flags.FULL_REFRESH -%}
        {%- do log('Relation ' ~ existing.render() ~ ' already exists', info=true) -%}
        {{ return({'relations': []}) }}
    {%- elif not (source and source.is_table and can_clone_table()) -%}
        {{ return(create_or_replace_view()) }}
    {%- elif target.render() == source.render() -%}
        {%- do log(
            'Target relation and defer relation are the same, skipping clone for relation: ' ~ target.render()
        ) -%}
    {%- else -%}
        {%- do lakemerge_refuse_grants(target, config.get('grants')) -%}
        {%- set at = var('lakemerge_clone_at', {}) -%}
        {%- set request = adapter.nodes.clone_request(target, model, source, at) -%}
        {%- set rows = version_of(source, **at) if at else source -%}
        {%- call statement('main') -%}
            {{ lakemerge_feed_statement('select * from ' ~ rows.render()) }}
        {%- endcall -%}
        {%- set response = adapter.nodes.publish(context, request) -%}
        {%- do store_result('main', response=response) -%}
    {%- endif -%}

    {%- do persist_docs(target, model) -%}
    {{ return({'relations': [target]}) }}
{%- endmaterialization %}
