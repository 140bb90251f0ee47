{#
    Change the columns of a table by one commit. Where the stored files no longer fit, all rows are written anew.

    Args:
        add: columns to add.
        remove: columns to drop.
        retype: new types by column name.
#}
{%- macro lakemerge_alter_columns(relation, add=[], remove=[], retype={}) -%}
    {%- for txn in adapter.alterations(relation, add, remove, retype) -%}
        {%- if txn.rewrites_all -%}
            {%- do txn.read() -%}
            {%- do txn.stage(lakemerge_own_rows_sql(txn), count=false) -%}
        {%- endif -%}
        {%- set properties = dict(txn.base_properties) -%}
        {%- if txn.rewrites_all -%}
            {#- a sequence may be of a column that is gone, or be written in another way -#}
            {%- do properties.update({'max_sequence': none, 'sequence_by': none}) -%}
        {%- endif -%}
        {%- do txn.commit({}, properties) -%}
    {%- endfor -%}
{%- endmacro -%}
