{#
    Whether no stored row has to be looked at before the rewrite: the partitions of the feed's keys are known, and
    every change is newer than anything stored, deleted or truncated before, so none can be late.
#}
{%- macro lakemerge_is_ahead(merge, feed) -%}
    {{- return(
        merge.exists
        and not merge.partial
        and not merge.predicates
        and feed.get('is_ahead')
        and lakemerge_scans_known_partitions(merge, feed)
        and adapter.may_broadcast(feed['keys'])
    ) -}}
{%- endmacro -%}
