"""What a table is to the metastore: formats, parameters, and which tables lakemerge may write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from lakemerge.errors import UnsupportedTable
from lakemerge.kernel.ports.metastore import HiveColumn, HivePartition, HiveTable, Storage
from lakemerge.kernel.ports.names import TableName
from lakemerge.kernel.table.spark_schema import with_spelling

Row = TypeVar("Row", HiveTable, HivePartition)

#: ``12@6f1c2b7d`` when settled, see :func:`settled_value`; ``13:<txn>`` while version 13 is claimed;
#: ``13:<txn>.group`` while the claim belongs to a group that is not decided.
VERSION = "lakemerge.version"
#: What such a claim ends with.
UNDECIDED = ".group"
#: On a row that is on its way to be dropped: the name that it had. Whatever else it says, it is no table's row.
ASIDE = "lakemerge.aside"
#: On a table that shows a version which has a name: the `lakemerge.id` of the table whose version it is.
TAG_OF = "lakemerge.tag_of"
#: The transaction id of the version that is settled.
TRANSACTION = "lakemerge.txn"
#: The directory that holds ``_lakemerge``; an unpartitioned table's own location moves away from it.
ROOT = "lakemerge.root"
#: Made at creation or adoption; a table dropped and made again gets another.
TABLE_ID = "lakemerge.id"
#: On an adopted table: when the metastore made the row that was adopted, in seconds. A row made anew has another time.
ADOPTED_ROW = "lakemerge.adopted_row"
#: For a table of the append kind: the last partition column, whose value is the version that added the partition.
COMMIT_COLUMN = "lakemerge.commit_column"
#: The type of that column.
COMMIT_COLUMN_TYPE = "bigint"


# How many digits of the table's id a settled version has.
_DIGITS_OF_ID = 8


def settled_value(version: int, table_id: str) -> str:
    """The version parameter of a table whose version is settled: ``12@`` and the first digits of its id.

    A call that compares with this value, however late it comes, never finds it in the next table of the name, which
    counts its versions from 1 again. Tables that were written before have the number alone until their next commit.
    """
    return f"{version}@{table_id[:_DIGITS_OF_ID]}"


def made_at(table: HiveTable) -> int:
    """When a table was made, in seconds of the metastore's clock, though its row may have been made anew since."""
    adopted = table.parameters.get(ADOPTED_ROW, "")
    return int(adopted) if adopted.isdigit() else table.created


def version_number(value: str) -> int:
    """The number in a version parameter, of a settled version or of a claimed one. Raises ValueError."""
    return int(value.partition(":")[0].partition("@")[0])


def is_settled_at(value: str, version: int) -> bool:
    """Whether a version parameter says that a version is settled, and no later one claimed."""
    return ":" not in value and value.partition("@")[0] == str(version)


@dataclass(frozen=True)
class FileFormat:
    """The three classes by which Hive reads and writes a format."""

    input_format: str
    output_format: str
    serde: str


FORMATS: Mapping[str, FileFormat] = {
    "orc": FileFormat(
        "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat",
        "org.apache.hadoop.hive.ql.io.orc.OrcOutputFormat",
        "org.apache.hadoop.hive.ql.io.orc.OrcSerde",
    ),
    "parquet": FileFormat(
        "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat",
        "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat",
        "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe",
    ),
}

#: The format of tables that lakemerge makes for itself and writes without Spark: a line for each row, with ``\\x01``
#: between the fields.
TEXT = "text"
_TEXT_FORMAT = FileFormat(
    "org.apache.hadoop.mapred.TextInputFormat",
    "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat",
    "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe",
)

# Statistics that describe the files of the version before, by Hive's and Spark's names.
_STATISTICS = ("numRows", "rawDataSize", "numFiles", "totalSize", "COLUMN_STATS_ACCURATE")
_SPARK_STATISTICS = "spark.sql.statistics."


@dataclass(frozen=True)
class TableDefinition:
    """A table to be made.

    Attributes:
        columns: without the partition columns.
        root: URI of its directory; ``None`` for a directory of the table's name in the database's directory.
        external: whether dropping the table elsewhere (``DROP TABLE`` in Hive) keeps the files.
        commit_column: makes a table of the append kind: the name of the last partition column, a bigint.
        parameters: further table parameters, such as ``comment``.
        spelling: names of columns as Spark is to show them, by their names in lower case.
    """

    name: TableName
    columns: tuple[HiveColumn, ...]
    partition_columns: tuple[HiveColumn, ...] = ()
    file_format: str = "orc"
    root: str | None = None
    external: bool = False
    owner: str = ""
    commit_column: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    spelling: Mapping[str, str] = field(default_factory=dict)


def storage_of(file_format: str) -> FileFormat:
    """The classes of a format by its name."""
    return _TEXT_FORMAT if file_format == TEXT else FORMATS[file_format]


def file_format_of(table: HiveTable) -> str:
    """``orc`` or ``parquet``; ``text`` for a table of lakemerge's own.

    Raises:
        UnsupportedTable: the table has another format.
    """
    for name, known in FORMATS.items():
        if table.storage.serde == known.serde:
            return name
    if table.storage.serde == _TEXT_FORMAT.serde and VERSION in table.parameters:
        return TEXT
    raise UnsupportedTable(
        expected=f"{table.name} to be a plain ORC or Parquet table",
        found=f"a table read by {table.storage.serde or 'no serde'}",
        action="Copy its rows to a table of ORC or Parquet first; lakemerge leaves this one alone.",
    )


_COPY = (
    "Copy its rows to a table without buckets (create table … as select), and give the model the name of that one; "
    "a partition column can take the place of the buckets."
)


def check_supported(table: HiveTable) -> None:
    """Refuse a table that is not a plain one, before anything of it is touched.

    Raises:
        UnsupportedTable: a view, Iceberg, Delta, Hudi, Hive ACID, bucketed or skewed table, or one of another format.
    """
    found = _foreign_kind(table)
    if found:
        other = "Give the model another name (alias), or drop the relation first if it is no longer needed."
        raise UnsupportedTable(
            expected=f"{table.name} to be a plain Hive table",
            found=found,
            action=_COPY if _is_bucketed(table) else other,
        )
    file_format_of(table)


def _foreign_kind(table: HiveTable) -> str:
    parameters = {key.lower(): value.lower() for key, value in table.parameters.items()}
    if table.kind not in ("MANAGED_TABLE", "EXTERNAL_TABLE"):
        return f"a {table.kind.lower().replace('_', ' ')}"
    if TAG_OF in parameters:
        return "a table that shows a version of another one, whose files must stay as they are"
    if parameters.get("transactional") == "true":
        return "a Hive ACID (transactional) table"
    if parameters.get("table_type") == "iceberg" or "storage_handler" in parameters:
        return f"a table of {parameters.get('table_type') or parameters['storage_handler']}"
    provider = parameters.get("spark.sql.sources.provider", "hive")
    if provider not in ("hive", *FORMATS):
        return f"a Spark data source table of {provider}"
    # Spark alone reads such partitions by path and ignores their locations unless it tracks them
    tracked = parameters.get("spark.sql.partitionprovider") == "catalog"
    if provider in FORMATS and table.partitioned and not tracked:
        return "a Spark data source table whose partitions are not in the metastore"
    if _is_bucketed(table):
        kind = "a bucketed table" if table.storage.buckets > 0 else "a table bucketed by Spark"
        return f"{kind}: engines tell a row's bucket by the name of its file, and files of lakemerge have no such names"
    return ""


def _is_bucketed(table: HiveTable) -> bool:
    names = {key.lower() for key in table.parameters}
    return table.storage.buckets > 0 or "spark.sql.sources.schema.numbucketcols" in names


def new_table(definition: TableDefinition, root: str, location: str) -> HiveTable:
    """The row of a table of this definition, not yet in the metastore."""
    parameters = {**definition.parameters, ROOT: root}
    if definition.commit_column:
        parameters[COMMIT_COLUMN] = definition.commit_column
    if definition.external:
        parameters["EXTERNAL"] = "TRUE"
    storage = Storage(location=location, serde_parameters={"serialization.format": "1"})
    table = HiveTable(
        name=definition.name,
        kind="EXTERNAL_TABLE" if definition.external else "MANAGED_TABLE",
        storage=storage,
        partition_columns=definition.partition_columns,
        parameters=parameters,
        owner=definition.owner,
    )
    return with_spelling(stored_as(table, definition.columns, definition.file_format), definition.spelling)


def new_partition(table: HiveTable, values: Sequence[str], location: str) -> HivePartition:
    """The row of a partition of this table, not yet in the metastore."""
    return moved(HivePartition(tuple(values), table.storage), location)


def stored_as(row: Row, columns: Sequence[HiveColumn], file_format: str) -> Row:
    """A row of a table or a partition with these columns and this format."""
    chosen = storage_of(file_format)
    storage = replace(
        row.storage,
        columns=tuple(columns),
        input_format=chosen.input_format,
        output_format=chosen.output_format,
        serde=chosen.serde,
    )
    return replace(row, storage=storage)


def with_statistics(
    row: Row, *, files: int, size: int, rows: int | None = None, with_spark: bool = False
) -> Row:
    """A row with these statistics among its parameters; those not known are removed.

    Args:
        with_spark: also write Spark's own keys, from which its optimizer takes the size.
    """
    parameters = {
        key: value
        for key, value in row.parameters.items()
        if key not in _STATISTICS and not key.startswith(_SPARK_STATISTICS)
    }
    parameters |= {"numFiles": str(files), "totalSize": str(size)}
    if with_spark:
        parameters[f"{_SPARK_STATISTICS}totalSize"] = str(size)
        if rows is not None:
            parameters[f"{_SPARK_STATISTICS}numRows"] = str(rows)
    return replace(row, parameters=parameters)


def with_parameters(row: Row, parameters: Mapping[str, str]) -> Row:
    """A row with these parameters besides its own."""
    return replace(row, parameters={**row.parameters, **parameters})


def moved(row: Row, location: str) -> Row:
    """A row that points to another directory."""
    serde = row.storage.serde_parameters
    if "path" in serde:  # where Spark keeps the location of tables made with USING
        serde = {**serde, "path": location}
    return replace(row, storage=replace(row.storage, location=location, serde_parameters=serde))


def same_keys(one: Sequence[HiveColumn], other: Sequence[HiveColumn]) -> bool:
    """Whether partition columns have the same names and types; comments do not matter."""
    return [(key.name, key.type) for key in one] == [(key.name, key.type) for key in other]


def needs_new_row(before: Sequence[HiveColumn], after: Sequence[HiveColumn]) -> bool:
    """Whether the metastore would refuse these columns in the place of others.

    It compares their types by position (``hive.metastore.disallow.incompatible.col.type.changes``), so a dropped column
    makes those after it look changed. ORC and Parquet files are read by column name.
    """
    return any(one.type != other.type for one, other in zip(before, after, strict=False))
