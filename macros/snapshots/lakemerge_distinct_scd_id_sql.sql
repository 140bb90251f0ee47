{#
    The strategy's `dbt_scd_id`, distinct for distinct keys. dbt hashes the parts of a key with `|` between them, so
    ('a|b', 'c') and ('a', 'b|c') would share their ids. If a part holds that character, the lengths of the parts are
    hashed too; otherwise the id is dbt's.
#}
{%- macro lakemerge_distinct_scd_id_sql(strategy) -%}
{%- if strategy.unique_key is string or strategy.unique_key | length < 2 -%}
    {{ strategy.scd_id }}
{%- else -%}
    {%- set parts, lengths = [], [strategy.scd_id] -%}
    {%- for part in strategy.unique_key -%}
        {%- do parts.append('cast(' ~ part ~ ' as string)') -%}
        {%- do lengths.append('length(cast(' ~ part ~ ' as string))') -%}
    {%- endfor -%}
    if(instr(concat({{ parts | join(', ') }}), '|') > 0, {{ snapshot_hash_arguments(lengths) }}, {{ strategy.scd_id }})
{%- endif -%}
{%- endmacro -%}
