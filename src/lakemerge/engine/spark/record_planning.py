"""How Spark plans and runs queries of records, which have several layers of expressions for each column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FACTORY = "spark.sql.codegen.factoryMode"
#: Settings that make Spark evaluate expressions instead of compiling code for them.
INTERPRETED = {_FACTORY: "NO_CODEGEN", "spark.sql.codegen.wholeStage": "false"}
#: From this many columns on, Spark evaluates the expressions instead of compiling code for them. The memory for
#: compiling grows with the columns, whatever the rows: for 2,000 columns it does not fit into 1 GB, for 400 it does.
MANY_COLUMNS = 500


@contextmanager
def planned_for_records(spark: SparkSession, columns: int) -> Iterator[None]:
    """Plan the session's queries inside the block as queries of records; the settings are restored afterwards.

    A factory mode that is already set stays as it is.

    Args:
        columns: of the table that the records are for.
    """
    settings = {
        # Java does not compile longer methods; Spark then makes several of them
        "spark.sql.codegen.hugeMethodLimit": "8000",
        # what Spark derives from the condition of good records is useless, and takes minutes for thousands of
        # columns, because it tries each one in the conditions of all others
        "spark.sql.constraintPropagation.enabled": "false",
        # collections in collections are functions in functions, each of which takes Spark several rounds
        "spark.sql.analyzer.maxIterations": "10000",
    }
    if columns >= MANY_COLUMNS and not sets_factory(spark):
        settings |= INTERPRETED
    with overriding(spark, settings):
        yield


def sets_factory(spark: SparkSession) -> bool:
    """Whether the user has said how Spark evaluates expressions."""
    return spark.conf.get(_FACTORY, None) is not None


@contextmanager
def overriding(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    before = {name: spark.conf.get(name, None) for name in settings}
    try:
        for name, value in settings.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, value_before in before.items():
            if value_before is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, value_before)
