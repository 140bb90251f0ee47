{#
    The partitions of a table that the model has not processed yet, as something to select from.

        select * from {{ consume(ref('raw_records'), limit=10) }}

    They count as processed when the model's rows are committed. A run that fails or dies gives them back.

    With --empty, and in unit tests, it is the table itself.
#}
{%- macro consume(
    relation, consumer=none, limit=none, max_bytes=none, where=none, ready=none, timeout=none, max_retries=none,
    on_rewrite=none, pin=none
) -%}
    {%- if not execute or relation.limit is not none or model.resource_type == 'unit_test' -%}
        {{- return(relation) -}}
    {%- endif -%}
    {{- return(adapter.consumers.consume(context, relation, model, {
        'consumer': consumer,
        'limit': limit,
        'max_bytes': max_bytes,
        'where': where,
        'ready': ready,
        'timeout': timeout,
        'max_retries': max_retries,
        'on_rewrite': on_rewrite,
        'pin': pin,
    }, flags.WHICH)) -}}
{%- endmacro -%}
