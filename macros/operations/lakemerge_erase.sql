{#
    Erase the rows that meet conditions: from tables, from what is kept beside them, and from all their versions. By default
    only print what there is.

        dbt run-operation lakemerge_erase --args '{conditions: {customers: "customer_id = 7", shop.orders: "customer_id = 7"}, dry_run: false}'

    Earlier versions of the tables are deleted, whatever vacuum's retention time is: queries that still read them fail.

    Args:
        conditions: SQL over the columns, by table.
        dry_run: only print what would be erased.
#}
{%- macro lakemerge_erase(conditions, dry_run=true) -%}
    {%- if not execute -%}{{- return(none) -}}{%- endif -%}
    {%- set found = adapter.operations.erase(conditions, dry_run) -%}
    {%- for one in found -%}
        {%- if one.state == 'clean' -%}
            {%- do log(one.table_name ~ ': no file holds a row that meets the condition', info=true) -%}
        {%- elif one.state == 'needed' -%}
            {%- do log(one.table_name ~ ': would erase ' ~ one.rows ~ ' rows of the newest version, and what ' ~ (one.files | length) ~ ' files hold; readers would lose versions ' ~ one.versions | join(', ') ~ ' (this is a dry run: set dry_run to false)', info=true) -%}
        {%- else -%}
            {%- do log(one.table_name ~ ': erased ' ~ one.rows ~ ' rows of the newest version, and versions ' ~ one.versions | join(', ') ~ '; no file holds a row any more', info=true) -%}
        {%- endif -%}
        {%- for keeper in one.kept_by -%}
            {%- do log(one.table_name ~ ': versions are kept by ' ~ keeper, info=true) -%}
        {%- endfor -%}
        {%- for file in one.keys_in -%}
            {%- do log(one.table_name ~ ': the ledger remembers the key, in ' ~ file, info=true) -%}
        {%- endfor -%}
        {%- for file in one.named_in -%}
            {%- do log(one.table_name ~ ': a text of the condition stands in ' ~ file, info=true) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{- return(found) -}}
{%- endmacro -%}
