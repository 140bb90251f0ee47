"""The programs that merge: lakemerge, others that dbt users know, and the least that copy-on-write must do."""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

from project import BenchProject

_COLUMNS = (
    *("id", "price", "stock", "title", "brand", "condition"),
    *("active", "score", "listed_on", "reference", "updated_at", "region"),
)
_NEWEST = "max_by(struct(*), updated_at)"
#: The same for all. Java's own choice of collector marks the heap beside the work, which few cores feel; the compiler's
#: threads are kept, for with a thread its CPU seconds are forgotten.
_JAVA = "-XX:+UseParallelGC -XX:-UseDynamicNumberOfCompilerThreads"
_MEMORY, _SHUFFLES = "3g", "8"


def latest_sql(feed: str) -> str:
    """The latest change of each key of a Parquet file."""
    return f"select row.* from (select {_NEWEST} as row from parquet.`{feed}` group by id)"


class Engine(ABC):
    """A table of one program.

    Attributes:
        name: what ``--engines`` takes.
        table: what a query reads it by.
        root: the folder that it may use.
    """

    name: ClassVar[str]
    table: str

    def __init__(self, root: Path, jars: Path) -> None:
        self.root = root

    @property
    @abstractmethod
    def spark(self) -> Any:
        """The session."""

    @abstractmethod
    def create(self, base: str, rows: int) -> None:
        """Make the table of a Parquet file."""

    @abstractmethod
    def merge(self, feed: str) -> dict[str, float]:
        """Bring a Parquet file of changes in; returns figures of its own."""

    def export(self, target: str) -> None:
        """Write the table's rows as Parquet."""
        columns = ", ".join(_COLUMNS)
        self.spark.sql(f"select {columns} from {self.table}").write.parquet(target)

    def data_files(self) -> set[Path]:
        """Files with rows that are in the table's folders, those of older versions among them."""
        found = (path for ending in ("orc", "parquet") for path in self.root.rglob(f"*.{ending}"))
        return {path for path in found if not {"metadata", "_delta_log"} & set(path.parts)}


class PlainEngine(Engine):
    """One that a plain Spark session runs."""

    settings: ClassVar[dict[str, str]] = {}
    jars: ClassVar[tuple[str, ...]] = ()

    def __init__(self, root: Path, jars: Path) -> None:
        super().__init__(root, jars)
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[*]").appName(f"bench {self.name}")
        settings = {
            "spark.driver.memory": _MEMORY,
            "spark.driver.extraJavaOptions": _JAVA,
            "spark.sql.shuffle.partitions": _SHUFFLES,
            "spark.ui.enabled": "false",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.warehouse.dir": str(root / "warehouse"),
            "spark.local.dir": str(root / "local"),
            "spark.jars": ",".join(str(path) for name in self.jars for path in sorted(jars.glob(name))),
            **{name: value.format(root=root) for name, value in self.settings.items()},
        }
        for name, value in settings.items():
            if value:
                builder = builder.config(name, value)
        self._spark = builder.getOrCreate()

    @property
    def spark(self) -> Any:
        return self._spark

    def _regions(self, feed: str) -> str:
        rows = self.spark.sql(f"select distinct region from parquet.`{feed}`").collect()
        return ", ".join(f"'{row.region}'" for row in rows)


class Iceberg(PlainEngine):
    """Iceberg's MERGE INTO, copy on write, in a catalog of files. The match may use the partition."""

    name = "iceberg"
    table = "ice.bench.master"
    jars: ClassVar[tuple[str, ...]] = ("iceberg-spark-runtime-*.jar",)
    settings: ClassVar[dict[str, str]] = {
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.ice.type": "hadoop",
        "spark.sql.catalog.ice.warehouse": "file:{root}/iceberg",
    }

    def create(self, base: str, rows: int) -> None:
        from pyspark.sql.functions import col

        sorted_rows = self.spark.sql(f"select {', '.join(_COLUMNS)} from parquet.`{base}` order by region")
        # else it keeps a file of each partition open, and of 2,000 their buffers are more than the memory
        made = sorted_rows.writeTo(self.table).option("fanout-enabled", "false")
        made.using("iceberg").partitionedBy(col("region")).create()

    def merge(self, feed: str) -> dict[str, float]:
        pairs = ", ".join(f"t.{name} = s.{name}" for name in _COLUMNS)
        self.spark.sql(
            f"""
            merge into {self.table} as t
            using ({latest_sql(feed)}) as s
            on t.id = s.id and t.region = s.region
            when matched and s.op = 'D' and s.updated_at > t.updated_at then delete
            when matched and s.updated_at > t.updated_at then update set {pairs}
            when not matched and s.op <> 'D' then
                insert ({", ".join(_COLUMNS)}) values ({", ".join(f"s.{name}" for name in _COLUMNS)})
            """
        )
        return {}


class Delta(Iceberg):
    """Delta's MERGE INTO, copy on write, of a table that no catalog knows."""

    name = "delta"
    jars: ClassVar[tuple[str, ...]] = ("delta-spark_*.jar", "delta-storage-*.jar")
    settings: ClassVar[dict[str, str]] = {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.properties.defaults.enableDeletionVectors": "false",
    }

    def __init__(self, root: Path, jars: Path) -> None:
        super().__init__(root, jars)
        self.table = f"delta.`{root}/delta`"

    def create(self, base: str, rows: int) -> None:
        self.spark.sql(
            f"create table {self.table} using delta partitioned by (region) as "
            f"select {', '.join(_COLUMNS)} from parquet.`{base}` order by region"
        )


class InsertOverwrite(PlainEngine):
    """The touched partitions replaced by INSERT OVERWRITE: the newest of stored and changed rows."""

    name = "insert overwrite"
    table = "master"
    settings: ClassVar[dict[str, str]] = {
        "spark.sql.sources.partitionOverwriteMode": "dynamic",
        "spark.sql.catalogImplementation": "hive",
        "spark.hadoop.javax.jdo.option.ConnectionURL": "jdbc:derby:;databaseName={root}/metastore;create=true",
        "spark.hadoop.datanucleus.schema.autoCreateAll": "true",
        "spark.hadoop.hive.metastore.schema.verification": "false",
    }

    def create(self, base: str, rows: int) -> None:
        self.spark.sql(
            f"create table {self.table} using orc options (compression 'zstd') partitioned by (region) as "
            f"select {', '.join(_COLUMNS)} from parquet.`{base}` order by region"
        )

    def merge(self, feed: str) -> dict[str, float]:
        columns = ", ".join(_COLUMNS)
        stored = f"select {columns}, 'U' as op from {self.table} where region in ({self._regions(feed)})"
        self.spark.sql(
            f"""
            insert overwrite table {self.table} partition (region)
            select {columns} from (
                select *, row_number() over (partition by id order by updated_at desc) as place
                from ({stored} union all select {columns}, op from parquet.`{feed}`)
            )
            where place = 1 and op <> 'D'
            """
        )
        return {}


class Floor(InsertOverwrite):
    """The least: the touched partitions read and written as they are, and the latest changes written."""

    name = "floor"

    def merge(self, feed: str) -> dict[str, float]:
        where = f"region in ({self._regions(feed)})"
        files = self._write(self.spark.sql(f"select * from {self.table} where {where}"))
        self._write(self.spark.sql(latest_sql(feed)).drop("op"))
        return {"files": files}

    def _write(self, frame: Any) -> int:
        from lakemerge.engine.layout.data_files import writer_options

        target = self.root / "floor"
        frame.write.format("orc").options(**writer_options("orc", "zstd")).partitionBy("region").save(
            str(target)
        )
        files = len(list(target.rglob("*.orc")))
        shutil.rmtree(target)
        return files


class Lakemerge(Engine):
    """A model of this package, run by dbt in this process; the seconds are those of the whole command."""

    name = "lakemerge"
    table = "bench.master"
    options = ""

    def __init__(self, root: Path, jars: Path) -> None:
        super().__init__(root, jars)
        model = f"""
            {{{{ config(
                materialized='incremental', incremental_strategy='merge', unique_key='id', sequence_by='updated_at',
                apply_as_deletes="op = 'D'", except_column_list=['op'], partition_by='region'{self.options}
            ) }}}}
            select * from parquet.`{root}/feed`
        """
        project = "name: bench\nprofile: bench\nmodel-paths: [models]\n"
        settings = f'spark.driver.memory: {_MEMORY}, spark.sql.shuffle.partitions: "{_SHUFFLES}"'
        self._project = BenchProject(root, project, {"models/master.sql": model}, settings)
        self._project.start()

    @property
    def spark(self) -> Any:
        return self._project.spark

    def create(self, base: str, rows: int) -> None:
        self.merge(base)

    def data_files(self) -> set[Path]:
        # the ledger's lie beside them
        return {path for path in super().data_files() if ("_lakemerge", "data") in pairwise(path.parts)}

    def merge(self, feed: str) -> dict[str, float]:
        # by a link, for dbt parses the whole project again when a variable has changed
        link = self.root / "feed"
        link.unlink(missing_ok=True)
        link.symlink_to(feed)
        self._project.dbt("run")
        return {"node": self._project.seconds.cpu[-1]}


class LakemergeFixed(Lakemerge):
    """The same for keys of which the model says that they stay in their partitions."""

    name = "lakemerge, partition_moves: false"
    options = ", partition_moves=false"


ENGINES = {
    engine.name: engine for engine in (Floor, Lakemerge, LakemergeFixed, Iceberg, Delta, InsertOverwrite)
}
