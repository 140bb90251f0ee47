{# Make the view `<table>__quarantine_by_reason`, once there is a quarantine. #}
{%- macro lakemerge_create_quarantine_view(target) -%}
    {%- set quarantine = adapter.ingest.quarantine_of(target) -%}
    {%- if quarantine is not none -%}
        {%- set view = target.incorporate(path={'identifier': quarantine.identifier ~ '_by_reason'}, type='view') -%}
        {%- if load_cached_relation(view) is none -%}
            {%- do adapter.ingest.create_view_once(lakemerge_quarantine_view_sql(view, quarantine)) -%}
            {%- do adapter.cache_added(view) -%}
        {%- endif -%}
    {%- endif -%}
{%- endmacro -%}
