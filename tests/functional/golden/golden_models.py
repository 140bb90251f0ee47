"""One model of each kind, and the feeds of its two runs: small ones, for it is the statements that matter."""

from __future__ import annotations

RUNS = (1, 2)

FEED = """
{% if var('run') == 1 %}
select * from values
    (1, 'one', 10.5BD, date '2026-01-01', 1, 'u'),
    (2, 'two', null, date '2026-01-01', 1, 'u'),
    (3, 'three', 3.0BD, date '2026-01-02', 1, 'u')
    as feed (id, name, amount, day, ts, op)
{% else %}
select * from values
    (1, 'uno', 11.0BD, date '2026-01-01', 2, 'u'),
    (2, null, null, date '2026-01-01', 2, 'd'),
    (4, 'four', 4.0BD, date '2026-01-03', 2, 'u')
    as feed (id, name, amount, day, ts, op)
{% endif %}
"""

_MERGE = "materialized='incremental', incremental_strategy='merge', unique_key='id', sequence_by='ts'"
_DELETES = "apply_as_deletes=\"op = 'd'\", except_column_list=['op']"

CONFIGS = {
    "table_unpartitioned": "materialized='table'",
    "table_partitioned": "materialized='table', partition_by='day', file_format='parquet'",
    "append": "materialized='incremental', incremental_strategy='append'",
    "append_by_commits": (
        "materialized='incremental', incremental_strategy='append', append_layout='commit_partitioned'"
    ),
    "insert_overwrite": (
        "materialized='incremental', incremental_strategy='insert_overwrite', partition_by='day'"
    ),
    "delete_insert": (
        "materialized='incremental', incremental_strategy='delete+insert', unique_key='id', partition_by='day'"
    ),
    "microbatch": (
        "materialized='incremental', incremental_strategy='microbatch', event_time='day', batch_size='day', "
        "begin='2026-01-01'"
    ),
    "merge_without_sequence": (
        "materialized='incremental', incremental_strategy='merge', unique_key=['id', 'day'], "
        "merge_update_columns=['name']"
    ),
    "merge_unpartitioned": f"{_MERGE}, {_DELETES}",
    "merge_partitioned": f"{_MERGE}, {_DELETES}, partition_by='day'",
    "merge_partial": f"{_MERGE}, {_DELETES}, ignore_null_updates=true, partition_by='day'",
    "merge_sync": f"{_MERGE}, sync='full', except_column_list=['op']",
    "merge_on_read": f"{_MERGE}, {_DELETES}, write_mode='merge_on_read', partition_by='day'",
    "history": f"{_MERGE}, {_DELETES}, stored_as_scd_type=2",
    "history_tracked": (
        f"{_MERGE}, stored_as_scd_type=2, track_history_column_list=['name'], except_column_list=['op']"
    ),
}
#: What the batches of a day read: dbt filters it.
FED = "{{ config(materialized='table', event_time='day') }}" + FEED


def query_of(name: str) -> str:
    if name == "microbatch":
        return "select * from {{ ref('fed') }}"
    return FEED.replace("select *", "select id, name, ts, op") if "history" in name else FEED


MODELS = {
    "fed.sql": FED,
    **{f"{name}.sql": f"{{{{ config({config}) }}}}\n{query_of(name)}" for name, config in CONFIGS.items()},
}

INGEST = """
{{ config(materialized='ingest', landing=var('landing'), format='delimited', header=true, settle_seconds=0,
          contract={'enforced': true}) }}
"""
INGEST_YML = """
models:
  - name: ingested
    columns:
      - {name: id, data_type: bigint, constraints: [{type: not_null}]}
      - {name: name, data_type: string}
      - {name: day, data_type: date}
"""
#: What lands before each run: the second file has a record that is rejected.
LANDED = {1: "id,name,day\n1,one,2026-01-01\n", 2: "id,name,day\n2,two,2026-01-02\nx,three,2026-13-01\n"}

_SNAPSHOT = (
    "{{% snapshot {name} %}}{{{{ config(unique_key='id', {config}) }}}}\n{feed}\n{{% endsnapshot %}}\n"
)
SNAPSHOTS = {
    "snapshots.sql": "".join(
        _SNAPSHOT.format(
            name=name,
            config=config,
            feed=FEED.replace("select *", "select *, timestamp_seconds(ts) as at").replace(
                "op)", "op) where op <> 'd'"
            ),
        )
        for name, config in {
            "snapshot_check": "strategy='check', check_cols=['name', 'amount'], hard_deletes='invalidate'",
            "snapshot_timestamp": "strategy='timestamp', updated_at='at'",
        }.items()
    )
}
NAMES = [*CONFIGS, "ingested", "snapshot_check", "snapshot_timestamp"]
