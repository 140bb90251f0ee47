{#
    The hook at the end of a run: publish what the run has staged (`publish: after_tests`) in one commit, or nothing of
    it if any result is bad.

    The package's own `on-run-end` calls this macro. It returns nothing, or a statement that fails with the reason.

    Args:
        results: dbt's, of the nodes of the run.
#}
{%- macro lakemerge_publish_staged(results) -%}
    {{- return(adapter.staging.publish(results) if execute else '') -}}
{%- endmacro -%}
