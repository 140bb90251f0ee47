"""What Spark 3.5 does differently from Spark 4. The rest of the engine asks here, and knows one Spark."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from py4j.protocol import Py4JJavaError

if TYPE_CHECKING:
    import logging

    import pyarrow
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType

    from lakemerge.kernel import Jvm

_DERBY_TABLE_EXISTS = "X0Y32"
#: Bytes that are a text of UTF-8, and bytes as such a text with a sign for each that is none. In SQL, by column.
_VALID_UTF8 = {True: "encode(decode({0}, 'UTF-8'), 'UTF-8') = {0}", False: "is_valid_utf8({0})"}
_TEXT_OF_UTF8 = {True: "decode({0}, 'UTF-8')", False: "make_valid_utf8({0})"}


@functools.cache
def is_spark_3() -> bool:
    """Whether the installed pyspark is of Spark 3."""
    import pyspark

    return pyspark.__version__.startswith("3.")


def condition_of(error: Any) -> str:
    """The name that Spark has for the kind of an error, such as ``TABLE_OR_VIEW_NOT_FOUND``.

    Args:
        error: pyspark's, or Java's SparkException.
    """
    return str((error.getErrorClass() if is_spark_3() else error.getCondition()) or "")


def type_of_ddl(text: str) -> DataType:
    """Spark's type for its name. Java parses it."""
    from pyspark.sql import types

    kinds = cast(Any, types)
    parse = kinds._parse_datatype_string if is_spark_3() else kinds.DataType.fromDDL
    return cast("DataType", parse(text))


def metadata_of(frame: DataFrame) -> Column:
    """Spark's ``_metadata`` of a frame of files, which may have a column of that name."""
    if not is_spark_3():
        return cast("Column", cast(Any, frame).metadataColumn("_metadata"))
    from pyspark.sql import Column

    return Column(frame._jdf.metadataColumn("_metadata"))


def loggers_of_queries() -> list[logging.Logger]:
    """The loggers by which Spark 4 prints the errors of queries; Spark 3.5 prints none."""
    if is_spark_3():
        return []
    kind = importlib.import_module("pyspark.logger").PySparkLogger
    return [kind.getLogger(name) for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger")]


def frame_of_arrow(spark: SparkSession, table: pyarrow.Table) -> DataFrame:
    """A frame of an Arrow table with rows, which no Python on an executor takes part in."""
    if not is_spark_3():
        return spark.createDataFrame(table)
    from pyspark.sql import DataFrame
    from pyspark.sql.pandas.serializers import ArrowStreamSerializer
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
    from pyspark.sql.utils import is_timestamp_ntz_preferred

    # Times without a zone are read as such: Spark, which knows the session's zone, makes moments of them.
    schema = from_arrow_schema(table.schema, prefer_timestamp_ntz=True)
    java, context = cast(Any, spark._jvm), spark.sparkContext
    batches = context._serialize_to_jvm(
        table.cast(to_arrow_schema(schema)).to_batches(max_chunksize=10_000),
        ArrowStreamSerializer(),
        java.PythonSQLUtils.readArrowStreamFromFile,
        java.ArrowIteratorServer,
    )
    frame = DataFrame(java.PythonSQLUtils.toDataFrame(batches, schema.json(), spark._jsparkSession), spark)
    wanted = from_arrow_schema(table.schema, prefer_timestamp_ntz=is_timestamp_ntz_preferred())
    return frame if wanted == schema else frame.to(wanted)


def names_unreadable_files() -> bool:
    """Whether Spark says which file it is that it cannot read."""
    return not is_spark_3()


def cancel_jobs(spark: SparkSession, group: str) -> None:
    """End the running jobs of a group, and in Spark 4 those that are started after it."""
    context = cast(Any, spark._jsc).sc()
    (context.cancelJobGroup if is_spark_3() else context.cancelJobGroupAndFutureJobs)(group)


def is_null_of_null(expression: Any) -> bool:
    """Whether a Java expression is known to be null where one of its children is."""
    if not is_spark_3():
        return bool(expression.nullIntolerant())
    return any(kind.getSimpleName() == "NullIntolerant" for kind in _kinds(expression.getClass()))


def _kinds(kind: Any) -> Iterator[Any]:
    while kind is not None:
        yield from kind.getInterfaces()
        kind = kind.getSuperclass()


def names_of_elements(node: Any) -> list[str]:
    """The names of the parts of a Scala case class, in their order."""
    if not is_spark_3():
        return [str(node.productElementName(place)) for place in range(node.productArity())]
    # Scala 2.12 has no such call, and Spark asks the signature that Scala leaves in the class
    loader = node.getClass().getClassLoader()
    reflection = (
        loader.loadClass("org.apache.spark.sql.catalyst.ScalaReflection$").getField("MODULE$").get(None)
    )
    names = reflection.getConstructorParameterNames(node.getClass())
    return [str(names.apply(place)) for place in range(names.size())]


def dataset_class() -> str:
    """The name of the Java class that makes frames of plans."""
    return "org.apache.spark.sql.Dataset" if is_spark_3() else "org.apache.spark.sql.classic.Dataset"


def insert_that_replaces(spark: SparkSession, plan: Any) -> tuple[Any, Any]:
    """Spark 3.5's plan of INSERT … REPLACE WHERE, as its plan of an INSERT and the condition."""
    logical = cast(Any, spark._jvm).org.apache.spark.sql.catalyst.plans.logical
    util = cast(Any, spark._jvm).org.apache.spark.api.python.PythonUtils
    java = cast(Any, spark._jvm).java.util
    nothing = util.toScalaMap(java.HashMap()), util.toList(java.ArrayList())
    insert = logical.InsertIntoStatement(plan.table(), *nothing, plan.query(), False, False, plan.isByName())
    return insert, plan.deleteExpr()


def has_answered(observation: Any) -> bool:
    """Whether a Java observation has been told of its action's end."""
    if not is_spark_3() or _has_method(observation, "future"):
        return bool(observation.future().isCompleted())
    # 3.5.0 to 3.5.7 say nothing of it that does not wait
    metrics = observation.getClass().getDeclaredField("metrics")
    metrics.setAccessible(True)
    return bool(metrics.get(observation).isDefined())


def _has_method(of: Any, name: str) -> bool:
    return any(method.getName() == name for method in of.getClass().getDeclaredMethods())


def valid_utf8(column: str) -> str:
    """SQL that is true where a column's bytes are a text of UTF-8."""
    return _VALID_UTF8[is_spark_3()].format(column)


def text_of_utf8(column: str) -> str:
    """SQL of a column's bytes as a text of UTF-8, with a sign in place of bytes that are none."""
    return _TEXT_OF_UTF8[is_spark_3()].format(column)


def make_lock_tables(jvm: Jvm) -> None:
    """Make the tables of an embedded metastore that commits need.

    Spark 4 has a Hive that changes a table's row only if it is as it was read. That of Spark 3.5 (2.3.9) does not, so
    that commits take its locks, whose tables it leaves to schematool.
    """
    if not (is_spark_3() and jvm.embeds_derby):
        return
    try:
        jvm.java.org.apache.hadoop.hive.metastore.txn.TxnDbUtil.prepDb(jvm.hive_conf())
    except Py4JJavaError as error:
        if _DERBY_TABLE_EXISTS not in str(error.java_exception.getSQLState()):
            raise
