{#
    Whether the stored rows of the feed's keys can only be in the partitions that the feed names: the key holds the
    partition columns, or the config says that a key never moves. Changes that name no partition spoil it.
#}
{%- macro lakemerge_scans_known_partitions(merge, counts) -%}
    {{- return(
        merge.partition_known
        and not merge.syncs
        and not counts['truncates']
        and not counts['unplaced']
    ) -}}
{%- endmacro -%}
