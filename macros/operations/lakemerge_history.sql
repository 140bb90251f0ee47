{#
    Print a table's commits, the newest first.

        dbt run-operation lakemerge_history --args '{table: product_master, limit: 10}'

    Args:
        table: a name, with or without its schema (the target's schema if without).
        limit: how many commits; all if not given.
#}
{%- macro lakemerge_history(table, limit=none) -%}
    {%- set commits = adapter.operations.history(lakemerge_relation(table), limit) -%}
    {%- if not commits -%}
        {%- do log(table ~ ': lakemerge has made no commits to this table yet', info=true) -%}
    {%- endif -%}
    {%- for commit in commits -%}
        {%- set counts = [] -%}
        {%- for name, count in commit.metrics.items() if count -%}{%- do counts.append(count ~ ' ' ~ name) -%}{%- endfor -%}
        {%- do log(
            'version %-4s %-25s %-16s %4s partitions changed, %5s files, %12s bytes  %s  %s' | format(
                commit.version, commit.committed_at, commit.operation, commit.partitions, commit.files,
                commit.bytes, counts | join(', ') or '-', commit.node or commit.agent
            ) ~ ('  run ' ~ commit.invocation_id if commit.invocation_id else '')
            ~ ('  group ' ~ commit.group if commit.group else '')
            ~ ('  tagged ' ~ (commit.tags | join(', ')) if commit.tags else ''),
            info=true
        ) -%}
    {%- endfor -%}
    {{- return(commits) -}}
{%- endmacro -%}
