{#
    The names of the partitions that a snapshot writes anew: those of the rows that end and begin, and small ones of
    closed rows that it takes along. All of the table's where stored files no longer fit.
#}
{%- macro lakemerge_touched_versions(txn, snapshot, partitions) -%}
    {%- set names = txn.names_of(partitions) -%}
    {%- set names = names + snapshot.layout.to_merge(names) -%}
    {{- return(names + txn.base_partitions if txn.rewrites_all else names) -}}
{%- endmacro -%}
