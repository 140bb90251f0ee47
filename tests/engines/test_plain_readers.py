"""A table that the kernel published, read by a Spark that knows nothing of lakemerge, by both of its readers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engines.conftest import Site
from kernel.support import assert_whole
from lakemerge.kernel import HiveColumn, TableDefinition, TableName, Transaction
from lakemerge.kernel.ports.names import DEFAULT_PARTITION, escape

pytestmark = pytest.mark.slow

ID = HiveColumn("id", "int")
ITEM = HiveColumn("item", "string")
PRICE = HiveColumn("price", "decimal(9,2)")
TAGS = HiveColumn("tags", "array<string>")
SHOP = HiveColumn("shop", "string")
#: Values of a partition that need escaping in a path, or quoting in SQL.
SHOPS = ["plain", "a/b", "a=b", "100%", "%2F", "it's", "a b", "naïve 日本", "x:y", None]

READERS = {
    "native": {"orc": "true", "parquet": "true"},
    "serde": {"orc": "false", "parquet": "false"},
}


def write(site: Site, txn: Transaction, shop: str | None, rows: str, file_format: str) -> None:
    """Write rows (SQL of a relation) with Spark into the stage directory's partition."""
    folder = f"shop={escape(shop or '')}"
    site.spark.sql(
        f"insert overwrite directory '{site.directory}/made' using {file_format} select * from {rows}"
    )
    for number, path in enumerate(sorted((site.directory / "made").glob("part-*"))):
        target = f"{txn.stage_directory}/{folder}/part-{number}.{file_format}"
        site.kernel.files.copy(path.as_uri(), target)


def publish(site: Site, name: TableName, file_format: str) -> None:
    """Three commits: made with two columns; a partition rewritten, two columns more; a partition dropped."""
    kernel = site.kernel
    txn = kernel.create(TableDefinition(name, (ID, ITEM), (SHOP,), file_format=file_format))
    for number, shop in enumerate([*SHOPS, "gone"]):
        write(site, txn, shop, f"values ({number}, 'item {number}') as t(id, item)", file_format)
    txn.add_staged()
    txn.commit()
    txn = kernel.begin(name, "merge")
    txn.read(["shop=plain"])
    txn.set_schema([ID, ITEM, PRICE, TAGS])
    rows = (
        "values (0, 'new item', 9.5bd, array('x', null)), (100, null, null, null) as t(id, item, price, tags)"
    )
    select = f"(select id, item, cast(price as decimal(9,2)) as price, tags from {rows})"
    write(site, txn, "plain", select, file_format)
    txn.add_staged()
    txn.commit()
    txn = kernel.begin(name, "merge")
    txn.read(["shop=gone"])
    txn.remove(["shop=gone"])
    txn.commit()


#: The rows as all readers but one have them.
EXPECTED: list[list[Any]] = [
    [0, "new item", "9.50", ["x", None], "plain"],
    *[[number, f"item {number}", None, None, shop] for number, shop in enumerate(SHOPS) if number],
    [100, None, None, None, "plain"],
]


def expected_by(reader: str) -> list[list[Any]]:
    """Spark reads a null partition of text through Hive's SerDes as its directory's name, in tables of its own too."""
    null = None if reader == "native" else DEFAULT_PARTITION
    return [[*row[:4], null if row[4] is None else row[4]] for row in EXPECTED]


@pytest.fixture(scope="module")
def published(derby_site: Site) -> dict[str, TableName]:
    """A table of each format."""
    # Hive 2.3 reads Parquet's decimals only as they were written then
    derby_site.spark.set(spark__sql__parquet__writeLegacyFormat="true")
    names = {}
    for file_format in ("orc", "parquet"):
        names[file_format] = TableName("default", f"published_{file_format}")
        publish(derby_site, names[file_format], file_format)
    return names


def use(site: Site, reader: str) -> None:
    """Choose Spark's own readers of files, or those of Hive's SerDes."""
    for file_format, convert in READERS[reader].items():
        site.spark.set(**{f"spark__sql__hive__convertMetastore{file_format.capitalize()}": convert})


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("file_format", ["orc", "parquet"])
def test_rows_are_read_with_nulls_for_new_columns(
    reader: str, file_format: str, derby_site: Site, published: dict[str, TableName]
) -> None:
    use(derby_site, reader)
    rows = derby_site.spark.sql(f"select * from {published[file_format]} order by id")
    assert rows == expected_by(reader)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("shop", SHOPS)
def test_partitions_are_found_by_their_value(
    shop: str | None, reader: str, derby_site: Site, published: dict[str, TableName]
) -> None:
    use(derby_site, reader)
    literal = "null" if shop is None else "'" + shop.replace("'", "\\'") + "'"
    query = f"select id from {published['orc']} where shop <=> {literal} order by id"
    assert derby_site.spark.sql(query) == [[row[0]] for row in EXPECTED if row[4] == shop]


@pytest.mark.parametrize("reader", READERS)
def test_staged_files_are_no_partitions(
    reader: str, derby_site: Site, published: dict[str, TableName]
) -> None:
    """``MSCK REPAIR`` adds whatever looks like a partition's directory below the root."""
    name = published["orc"]
    use(derby_site, reader)
    txn = derby_site.kernel.begin(name, "merge")
    write(derby_site, txn, "staged", "values (7, 'staged') as t(id, item)", "orc")
    before = derby_site.kernel.metastore.partition_names(name)
    derby_site.spark.sql(f"msck repair table {name}")
    assert derby_site.kernel.metastore.partition_names(name) == before
    assert derby_site.spark.sql(f"select * from {name} order by id") == expected_by(reader)
    txn.abort()
    assert_whole(derby_site.kernel, name)


def test_a_null_partition_of_spark_s_own_reads_the_same(derby_site: Site, name: TableName) -> None:
    """The control of the exception above."""
    derby_site.spark.sql(f"create table {name} (id int) partitioned by (shop string) stored as orc")
    derby_site.spark.sql(f"insert into {name} values (1, null)")
    for reader, shop in (("native", None), ("serde", DEFAULT_PARTITION)):
        use(derby_site, reader)
        assert derby_site.spark.sql(f"select * from {name}") == [[1, shop]]


@pytest.mark.parametrize("reader", READERS)
def test_an_unpartitioned_table(reader: str, derby_site: Site, name: TableName) -> None:
    use(derby_site, reader)
    kernel, spark = derby_site.kernel, derby_site.spark
    txn = kernel.create(TableDefinition(name, (ID, ITEM)))
    copy_rows(derby_site, txn, "values (1, 'one'), (2, 'two') as t(id, item)")
    txn.commit()
    assert spark.sql(f"select * from {name} order by id") == [[1, "one"], [2, "two"]]
    txn = kernel.begin(name, "merge")
    txn.read()
    txn.set_schema([ID, ITEM, PRICE])
    copy_rows(derby_site, txn, "values (3, 'three') as t(id, item)")
    txn.commit()
    assert spark.sql(f"select * from {name}") == [[3, "three", None]]
    assert spark.sql(f"select count(*) from {name}") == [[1]]


def copy_rows(site: Site, txn: Transaction, rows: str) -> None:
    """Stage rows of an unpartitioned table."""
    made = site.directory / "made"
    site.spark.sql(f"insert overwrite directory '{made}' using orc select * from {rows}")
    for path in sorted(Path(made).glob("part-*")):
        site.kernel.files.copy(path.as_uri(), f"{txn.stage_directory}/{path.name}")
    txn.add_staged()


@pytest.mark.parametrize("reader", READERS)
def test_rows_inserted_by_spark_are_kept(reader: str, derby_site: Site, name: TableName) -> None:
    """A plain ``INSERT`` into the table, old partition and new, then a commit of ours on top."""
    use(derby_site, reader)
    kernel, spark = derby_site.kernel, derby_site.spark
    txn = kernel.create(TableDefinition(name, (ID, ITEM), (SHOP,)))
    for shop in ("one", "two"):
        write(derby_site, txn, shop, "values (1, 'ours') as t(id, item)", "orc")
    txn.add_staged()
    txn.commit()
    spark.sql(f"insert into {name} values (2, 'theirs', 'one'), (3, 'theirs', 'new')")
    expected = [[1, "ours", "one"], [1, "ours", "two"], [2, "theirs", "one"], [3, "theirs", "new"]]
    assert spark.sql(f"select * from {name} order by id, shop") == expected
    txn = kernel.begin(name, "merge")
    txn.read(["shop=two", "shop=one", "shop=new"])
    assert txn.base is not None
    assert (txn.base.version, txn.base.operation) == (2, "foreign")
    write(derby_site, txn, "two", "values (1, 'ours again') as t(id, item)", "orc")
    txn.add_staged()
    assert txn.commit() == 3
    expected[1] = [1, "ours again", "two"]
    assert spark.sql(f"select * from {name} order by id, shop") == expected
    assert_whole(kernel, name)
