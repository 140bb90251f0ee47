"""Aggregates that Spark computes on the way, as Python values on every supported pyspark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from py4j.java_gateway import JavaObject

if TYPE_CHECKING:
    from pyspark.sql import Observation


def observed(observation: Observation) -> dict[str, Any]:
    """The metrics by name; waits for the first action on what is observed.

    pyspark 4.0 hands arrays over as Scala sequences, later releases as lists. A metric is a simple value, or an
    array of such or of arrays.
    """
    return {name: _without_sequences(value) for name, value in observation.get.items()}


def _without_sequences(value: Any) -> Any:
    if isinstance(value, JavaObject):
        return [_without_sequences(value.apply(index)) for index in range(value.length())]
    return value
