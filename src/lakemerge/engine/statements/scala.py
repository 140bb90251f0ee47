"""Scala's collections over Py4J."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def each(items: Any) -> Iterator[Any]:
    """The items of a Scala sequence."""
    return (items.apply(place) for place in range(items.size()))


def optional(option: Any) -> Any:
    """The value of a Scala option; ``None`` for an empty one."""
    return option.get() if option.isDefined() else None


def kind_of(node: Any) -> str:
    """The name of a Java object's class. Whether it has a method cannot be asked: Py4J says yes to every name."""
    return str(node.getClass().getSimpleName())


def element(node: Any, name: str) -> Any:
    """A part of a case class; ``None`` where this release of Spark has none of that name."""
    names = [str(node.productElementName(place)) for place in range(node.productArity())]
    return node.productElement(names.index(name)) if name in names else None


def sequence(spark: SparkSession, items: Iterable[Any]) -> Any:
    """A Scala list."""
    jvm = spark._jvm
    assert jvm is not None
    found = jvm.java.util.ArrayList()
    for item in items:
        found.add(item)
    # a list and no view of one: executors could not read that
    return jvm.scala.jdk.javaapi.CollectionConverters.asScala(found).toList()
