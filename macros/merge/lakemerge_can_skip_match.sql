{#
    Whether no stored row has to be looked at before the rewrite: every change is newer than anything stored, deleted
    or truncated before, so none can be late, and the partitions to rewrite are known: those of the feed's keys are, or
    the feed has rows for every partition that there is.
#}
{%- macro lakemerge_can_skip_match(merge, txn, feed) -%}
    {{- return(
        merge.exists
        and not merge.partial
        and not merge.predicates
        and not merge.syncs
        and not feed['truncates']
        and not txn.rewrites_all
        and merge.is_above_all_known(feed.get('min_sequence'))
        and adapter.may_broadcast(feed['keys'])
        and (
            lakemerge_scans_known_partitions(merge, feed)
            or txn.rewrites_every_partition(txn.names_of(feed['live_partitions']))
        )
    ) -}}
{%- endmacro -%}
