"""Aggregates that Spark computes while rows pass, as Python values on every supported pyspark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from py4j.java_gateway import JavaObject

from lakemerge.engine.spark.releases import has_answered

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Observation

# Milliseconds in which Spark's events of an action must have been handled.
_MOST_WAITING = 600_000


@dataclass(frozen=True)
class Observed:
    """Counts the rows of a frame once, as they pass."""

    observation: Observation
    frame: DataFrame
    metrics: Mapping[str, str]

    @property
    def get(self) -> dict[str, Any]:
        """The metrics by name; waits for the first action that reads the frame.

        Spark may know without reading that an action needs no rows, because the frame has none or because the action
        drops them all. It then leaves the frame out of the plan, together with what counts the rows. The answer is
        then empty, which fails in pyspark, or never comes, in Spark 4.0. In this case a separate query counts the rows.

        pyspark 4.0 hands arrays over as Scala sequences, later releases as lists. A metric is a simple value, or an
        array of simple values or of arrays.
        """
        if self._is_left_out():
            row = self.frame.selectExpr(*(f"{sql} as {name}" for name, sql in self.metrics.items())).first()
            return row.asDict() if row else {}
        return {name: _without_sequences(value) for name, value in self.observation.get.items()}

    def _is_left_out(self) -> bool:
        """Whether the action has ended without an answer, which would have come with Spark's events of it."""
        java, context = self.observation._jo, self.frame.sparkSession.sparkContext
        if java is None or context._jsc is None:
            return False
        if not has_answered(java):
            context._jsc.sc().listenerBus().waitUntilEmpty(_MOST_WAITING)
        return not has_answered(java) or bool(java.getAsJava().isEmpty())


def observe(frame: DataFrame, metrics: Mapping[str, str]) -> tuple[DataFrame, Observed]:
    """The frame with aggregates attached, and the object that has their values afterwards.

    Args:
        metrics: aggregate expressions by name.
    """
    from pyspark.sql import Observation, functions

    observation = Observation()
    # the names are part of the SQL texts, because each call to Java takes time
    expressions = [functions.expr(f"{text} as {name}") for name, text in metrics.items()]
    return frame.observe(observation, *expressions), Observed(observation, frame, metrics)


def _without_sequences(value: Any) -> Any:
    if isinstance(value, JavaObject):
        return [_without_sequences(value.apply(index)) for index in range(value.length())]
    return value
