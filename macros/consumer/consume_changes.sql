{#
    The rows that a table's commits have changed since this model's last commit, as something to select from: the table's
    columns with `_change_type` (`insert`, `update_preimage`, `update_postimage`, `delete`), `_commit_version` and
    `_commit_timestamp`. The first run sees the whole table as inserts.

        select * from {{ consume_changes(ref('products'), net=true, preimages=false) }}

    The versions count as processed when the model's rows are committed. A run that fails or dies gives them back.

    In unit tests it is the table itself.

    Args:
        relation: the table: a `ref` or a `source`.
        consumer, limit, max_bytes, timeout, pin: as of `consume`; the limit is of versions.
        from_version: the version after which the consumer begins; by default with all rows of the newest one.
        key, net, preimages: as of `changes`.
#}
{%- macro consume_changes(
    relation, consumer=none, limit=none, max_bytes=none, from_version=none, key=none, net=none, preimages=none,
    timeout=none, pin=none
) -%}
    {%- if not execute or model.resource_type == 'unit_test' -%}
        {{- return(relation) -}}
    {%- endif -%}
    {{- return(adapter.consumers.consume(context, relation, model, {
        'consumer': consumer,
        'limit': limit,
        'max_bytes': max_bytes,
        'from_version': from_version,
        'key': key,
        'net': net,
        'preimages': preimages,
        'timeout': timeout,
        'pin': pin,
    }, flags.WHICH, true)) -}}
{%- endmacro -%}
