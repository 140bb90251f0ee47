"""Classes and Scala's collections over Py4J."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from py4j.java_gateway import JavaClass

from lakemerge.engine.spark.releases import names_of_elements

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_PYTHON_UTILS = "org.apache.spark.api.python.PythonUtils"


def java_class(spark: SparkSession, name: str) -> Any:
    """A class of Spark's Java. Through ``_jvm``, each part of the name is a call that asks whether it is one."""
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    return JavaClass(name, gateway._gateway_client)


def each(items: Any) -> Iterator[Any]:
    """The items of a Scala sequence."""
    return (items.apply(place) for place in range(items.size()))


def optional(option: Any) -> Any:
    """The value of a Scala option; ``None`` for an empty one."""
    return option.get() if option.isDefined() else None


def kind_of(node: Any) -> str:
    """The name of a Java object's class. Whether it has a method cannot be asked: Py4J says yes to every name."""
    return str(node.getClass().getSimpleName())


def elements(node: Any) -> dict[str, Any]:
    """The parts of a case class, by their names, which differ among the releases of Spark."""
    return dict(
        zip(
            names_of_elements(node), (node.productElement(n) for n in range(node.productArity())), strict=True
        )
    )


def mapping(items: Any) -> dict[str, Any]:
    """The values of a Scala map whose keys are texts."""
    return {str(pair._1()): pair._2() for pair in each(items.toSeq())}


def sequence(spark: SparkSession, items: Iterable[Any]) -> Any:
    """A Scala list."""
    found = java_class(spark, "java.util.ArrayList")()
    for item in items:
        found.add(item)
    # a list and no view of one: executors could not read that
    return java_class(spark, _PYTHON_UTILS).toList(found)


def mapped(spark: SparkSession, items: Mapping[str, str]) -> Any:
    """An immutable Scala map."""
    found = java_class(spark, "java.util.HashMap")(dict(items))
    return java_class(spark, _PYTHON_UTILS).toScalaMap(found)
