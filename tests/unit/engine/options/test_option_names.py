"""Names that are almost an option's are refused; those of dbt, of other adapters and of users pass."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dbt.adapters.lakemerge.after_tests.methods import publishes_after_tests
from dbt.adapters.lakemerge.credentials import LakemergeCredentials
from dbt.adapters.lakemerge.dbt_names import names_of_dbt
from dbt_common.exceptions import DbtRuntimeError
from hypothesis import given
from hypothesis import strategies as st

from lakemerge.engine.consume.consume_options import ConsumeConfig
from lakemerge.engine.history.history_options import SnapshotConfig
from lakemerge.engine.ingest.ingest_options import IngestOptions
from lakemerge.engine.ingest.route_options import RoutingOptions
from lakemerge.engine.options.names import GONE, meant
from lakemerge.engine.options.reader import OptionReader
from lakemerge.engine.strategies import config_of
from lakemerge.errors import InvalidConfig

ROOT = Path(__file__).parents[4]
KEYED = {"unique_key": "id", "sequence_by": "ts"}
KINDS: dict[str, Any] = {
    "table": lambda config: config_of(config, "replace"),
    "append": lambda config: config_of(config, "append"),
    "insert_overwrite": lambda config: config_of(config, "insert_overwrite"),
    "delete+insert": lambda config: config_of({"unique_key": "id", **config}, "delete+insert"),
    "merge": lambda config: config_of({**KEYED, **config}, "merge"),
    "history": lambda config: config_of({**KEYED, "stored_as_scd_type": 2, **config}, "merge"),
    "snapshot": SnapshotConfig.of,
    "ingest": lambda config: IngestOptions.of({"landing": "x", **config}),
    "routes": RoutingOptions.of,
    "view": lambda config: publishes_after_tests({"config": config}),
}
# What other adapters, packages and people have in the configs of models that may run here too.
OF_OTHERS = frozenset(
    re.findall(
        r"\w+",
        "as_columnstore auto_liquid_cluster automatic_clustering auto_refresh backup bind cluster_by "
        "clustered_by buckets compression contract copy_grants copy_partitions databricks_compute "
        "databricks_tags delete_condition description dist distributed_by elementary enable_refresh engine "
        "external_volume field_mapping format_options format_type ha http_path hours_to_expiration "
        "immutable_where include_full_name_in_path index_type indexes initialize insert_condition "
        "intermediate_format inserts_only is_external iceberg_expire_snapshots job_cluster_config "
        "kms_key_name labels lf_grants lf_tags_config liquid_clustered_by location manual_refresh "
        "matched_condition max_staleness merge_with_schema_evolution native_drop not_matched_by_source_action "
        "num_buckets order_by owner partition_expiration_days partition_transforms partitions "
        "persist_strategy primary_key properties query_tag refresh_interval_minutes require_partition_filter "
        "row_access_policy s3_data_dir s3_data_naming s3_tmp_table_dir seed_s3_upload_args schema_registry "
        "secure settings skip_matched_step snowflake_warehouse sort sort_type source_alias storage_uri "
        "submission_method table_format table_tag table_type target_alias target_lag timeout "
        "tmp_relation_type transient ttl unique_tmp_table_suffix unlogged update_condition "
        "use_safer_relation_operations view_security volatility warehouse async published publisher draft "
        "owner team cost_center sla domain tier steward pii dag schedule ",
    )
)


@pytest.mark.parametrize("kind", KINDS)
def test_names_of_others_pass(kind: str) -> None:
    KINDS[kind](dict.fromkeys(OF_OTHERS, "some text") | dict.fromkeys(names_of_dbt() - {"unique_key"}))


@pytest.mark.parametrize(
    ("kind", "slip", "option"),
    [
        ("merge", "apply_as_delete", "apply_as_deletes"),
        ("merge", "sequence_bu", "sequence_by"),
        ("merge", "uniqe_key", "unique_key"),
        ("merge", "writeMode", "write_mode"),
        ("merge", "write-mode", "write_mode"),
        ("merge", "stored_as_scd_typ", "stored_as_scd_type"),
        ("merge", "tombstones_retention", "tombstone_retention"),
        ("history", "track_history_columns_list", "track_history_column_list"),
        ("delete+insert", "incremental_predicate", "incremental_predicates"),
        ("append", "append_layouts", "append_layout"),
        ("append", "incremental_stratgy", "incremental_strategy"),
        ("insert_overwrite", "partitioned_by", "partition_by"),
        ("table", "fileformat", "file_format"),
        ("table", "Tblproperties", "tblproperties"),
        ("snapshot", "history_layot", "history_layout"),
        ("ingest", "settle_second", "settle_seconds"),
        ("ingest", "partition_value", "partition_values"),
        ("routes", "unknown_routes", "unknown_route"),
        ("view", "publsh", "publish"),
    ],
)
def test_a_slip_is_refused_with_the_name_meant(kind: str, slip: str, option: str) -> None:
    with pytest.raises(InvalidConfig, match=f"{slip} is no option, and {option} is"):
        KINDS[kind]({slip: "value"})
    KINDS[kind]({slip: None})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", GONE)
def test_an_option_that_is_gone_is_refused_with_what_takes_its_place(kind: str, name: str) -> None:
    instead = "(`compaction: off`|`target_file_size`)"
    for value in (0, 5, "1mb"):
        with pytest.raises(InvalidConfig, match=f"{name} is no option any more: .*{instead}"):
            KINDS[kind]({name: value})
    KINDS[kind]({name: None})


def test_another_adapters_name_beside_ours_passes() -> None:
    theirs = {"partitioned_by": ["day"], "table_properties": {"a": "b"}}
    with pytest.raises(InvalidConfig, match=r"partitioned_by is no option.* table_properties is no option"):
        config_of(theirs, "append")
    config_of({**theirs, "partition_by": ["day"], "tblproperties": {"a": "b"}}, "append")


def test_options_of_kafka_are_checked_too() -> None:
    kafka = {"kafka.bootstrap.servers": "a:9092", "subscribe": "alerts"}
    with pytest.raises(InvalidConfig, match="kafka: startingOffset is no option, and startingOffsets is"):
        IngestOptions.of({"kafka": {**kafka, "startingOffset": "latest"}})
    IngestOptions.of(
        {"kafka": {**kafka, "STARTINGOFFSETS": "latest", "minPartitions": 3, "kafka.sasl.mechanism": "PLAIN"}}
    )


def test_consume_and_routes_know_all_their_names() -> None:
    with pytest.raises(InvalidConfig, match="limits is not known: it has consumer, limit, max_bytes"):
        ConsumeConfig.of({"limits": 3}, "model")
    with pytest.raises(InvalidConfig, match="delete is not known: it has columns, deletes, table, truncates"):
        RoutingOptions.of({"route_by": "op", "routes": {"a": {"table": "b", "delete": "true"}}})


def test_a_profile_is_checked_too() -> None:
    with pytest.raises(DbtRuntimeError, match="Expected `metastore` in the profile; found `metastor`"):
        LakemergeCredentials.from_dict({"schema": "shop", "metastor": "thrift://there:9083"})
    # what dbt-spark's profiles have
    LakemergeCredentials.from_dict(
        {"schema": "shop", "host": "NA", "port": 10000, "connect_retries": 3, "threads": 4}
    )


# Read by dbt-spark's macros, by dbt's, or refused wherever they are.
OF_DBT = {"sql_header", "options", "snapshot_table_column_names", "on_configuration_change", "predicates"}


def read_by_macros() -> Iterator[str]:
    for path in (ROOT / "macros").rglob("*.sql"):
        yield from re.findall(r"config\.get\('(\w+)'", path.read_text())


def test_what_macros_read_is_known() -> None:
    readers: list[frozenset[str]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            OptionReader,
            "check_names",
            lambda one, also=(): readers.append(frozenset(one.declared) | set(also)),
        )
        for read in KINDS.values():
            read({})
    ours = frozenset().union(*readers)
    assert set(read_by_macros()) <= ours | OF_DBT | names_of_dbt()
    for asked in readers:
        assert meant(ours, asked) == {}, "an option of one kind is no slip of another's"


@given(name=st.text(max_size=30))
def test_any_text_may_be_a_name(name: str) -> None:
    assert set(meant([name], ["write_mode", "sync"]).values()) <= {"write_mode"}
