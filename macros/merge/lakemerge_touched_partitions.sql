{# The names of the partitions whose content a merge changes; all of the table's where stored files no longer fit. #}
{%- macro lakemerge_touched_partitions(txn, resolved, absent) -%}
    {%- set rows = resolved['new_partitions'] + (resolved.get('old_partitions') or []) -%}
    {%- set rows = rows + (absent['partitions'] if absent is not none else []) -%}
    {%- set names = txn.names_of(rows) -%}
    {{- return(names + txn.base_partitions if txn.rewrites_all else names) -}}
{%- endmacro -%}
