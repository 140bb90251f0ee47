{# Refuse a full sync with an empty feed: it would delete every row, which is more often a broken feed than a wish. #}
{%- macro lakemerge_check_sync(config, counts) -%}
    {%- if config.sync == 'full' and not counts['keys'] and not config.allow_empty_sync -%}
        {%- do adapter.raise_typed(
            'EmptySync',
            "rows in the feed of a model with sync 'full'",
            'none, which would delete every row of the table',
            'Check the feed; if every row is to go, set allow_empty_sync: true for this run.'
        ) -%}
    {%- endif -%}
{%- endmacro -%}
