"""Which tables lakemerge may write."""

from __future__ import annotations

import pytest

from lakemerge.errors import UnsupportedTable
from lakemerge.kernel import HiveColumn, HiveTable, TableName
from lakemerge.kernel.ports.metastore import Storage
from lakemerge.kernel.table.definition import FORMATS, check_supported, file_format_of, same_keys


def table(
    *,
    kind: str = "MANAGED_TABLE",
    serde: str = FORMATS["orc"].serde,
    partitioned: bool = False,
    buckets: int = -1,
    parameters: dict[str, str] | None = None,
) -> HiveTable:
    columns = (HiveColumn("id", "int"),)
    return HiveTable(
        name=TableName("default", "t"),
        kind=kind,
        storage=Storage(columns, "file:/wh/t", serde=serde, buckets=buckets),
        partition_columns=(HiveColumn("p", "string"),) if partitioned else (),
        parameters=parameters or {},
    )


@pytest.mark.parametrize(
    "plain",
    [
        table(),
        table(kind="EXTERNAL_TABLE", partitioned=True),
        table(serde=FORMATS["parquet"].serde),
        table(parameters={"spark.sql.sources.provider": "orc"}),
        table(parameters={"spark.sql.sources.provider": "hive"}, partitioned=True),
        table(
            parameters={"spark.sql.sources.provider": "ORC", "spark.sql.partitionProvider": "catalog"},
            partitioned=True,
        ),
        table(parameters={"transactional": "false"}),
    ],
)
def test_plain_tables_are_accepted(plain: HiveTable) -> None:
    check_supported(plain)


@pytest.mark.parametrize(
    ("other", "found"),
    [
        (table(kind="VIRTUAL_VIEW"), "a virtual view"),
        (table(kind="MATERIALIZED_VIEW"), "a materialized view"),
        (table(parameters={"transactional": "TRUE"}), "Hive ACID"),
        (table(parameters={"table_type": "ICEBERG"}), "iceberg"),
        (table(parameters={"storage_handler": "org.apache.X"}), r"org\.apache\.x"),
        (table(parameters={"spark.sql.sources.provider": "delta"}), "delta"),
        (table(parameters={"spark.sql.sources.provider": "orc"}, partitioned=True), "not in the metastore"),
        (table(buckets=4), "bucketed"),
        (table(parameters={"spark.sql.sources.schema.numBucketCols": "1"}), "bucketed by Spark"),
        (table(serde="org.apache.hadoop.hive.serde2.avro.AvroSerDe"), "AvroSerDe"),
        (table(serde=""), "no serde"),
    ],
)
def test_other_kinds_are_refused_by_name(other: HiveTable, found: str) -> None:
    with pytest.raises(UnsupportedTable, match=found) as refusal:
        check_supported(other)
    assert "default.t" in refusal.value.expected


@pytest.mark.parametrize(
    "bucketed", [table(buckets=4), table(parameters={"spark.sql.sources.schema.numBucketCols": "1"})]
)
def test_the_refusal_of_buckets_says_why_and_what_to_do(bucketed: HiveTable) -> None:
    with pytest.raises(UnsupportedTable, match="tell a row's bucket by the name of its file") as refusal:
        check_supported(bucketed)
    assert "create table … as select" in refusal.value.action


@pytest.mark.parametrize("name", FORMATS)
def test_formats_are_known_by_their_serde(name: str) -> None:
    assert file_format_of(table(serde=FORMATS[name].serde)) == name


def test_comments_do_not_make_other_partition_columns() -> None:
    assert same_keys([HiveColumn("p", "int", "a")], [HiveColumn("p", "int", "b")])
    assert not same_keys([HiveColumn("p", "int")], [HiveColumn("p", "string")])
    assert not same_keys([HiveColumn("p", "int")], [])
