{#
    Refuse a table that this snapshot did not write, if its current rows seem to have another `dbt_valid_to` than the
    config says: every key would get a second current row.
#}
{%- macro lakemerge_check_adopted_snapshot(txn, snapshot) -%}
    {%- if snapshot.is_adopted -%}
        {%- set valid_to, valid_from = snapshot.names.dbt_valid_to, snapshot.names.dbt_valid_from -%}
        {%- set sql -%}
            select
                cast(max(if({{ snapshot.is_current }}, null, {{ valid_to }})) as string) as latest_end,
                max(if({{ snapshot.is_current }}, null, {{ valid_to }})) > greatest({{ snapshot.run_time }}, max({{ valid_from }})) as is_open
            from {{ txn.table }}
            where {{ snapshot.layout.open_filter }}
        {%- endset -%}
        {%- set found = adapter.rows_of(sql)[0] -%}
        {%- if found['is_open'] -%}
            {%- do adapter.raise_typed(
                'InvalidConfig',
                'dbt_valid_to of the current rows of ' ~ snapshot.table ~ ' to be null'
                    ~ (', or ' ~ snapshot.valid_to_current if snapshot.current_values else ''),
                found['latest_end'] ~ ', which lies in the future',
                'Set dbt_valid_to_current to the value that the current rows of this table have.'
            ) -%}
        {%- endif -%}
    {%- endif -%}
{%- endmacro -%}
