"""Aggregates that Spark computes on the way, as Python values on every supported pyspark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from py4j.java_gateway import JavaObject

if TYPE_CHECKING:
    from pyspark.sql import Observation


@dataclass(frozen=True)
class ObservedView:
    """What counts the rows of a view as they are read, once."""

    observation: Observation
    names: tuple[str, ...]

    @property
    def get(self) -> dict[str, Any]:
        """The counts by name; waits for the first action that reads the view.

        Where Spark knows without reading that the view has no rows, it leaves it out of the plan with what counts
        them, and pyspark fails on the empty answer.
        """
        java = self.observation._jo
        if java is not None and java.getRow().length() == 0:
            return dict.fromkeys(self.names, 0)
        return observed(self.observation)


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
