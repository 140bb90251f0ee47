"""Which dates and times a table can hold, so that each is read back as it was written.

Spark writes ORC through Java's older classes. Their calendar goes from 1582-10-04 straight to 1582-10-15, and they use
local times of Java's zone, some of which clocks may have shown twice. To Parquet, Spark writes what it is given, but
the values that a query compares with go through the same classes, so that no condition finds such a value. ORC also
keeps seconds and their fractions apart: the fractions of the last second before 1970 are read as those of the first
second after it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SECOND = 1_000_000
_DAY = 86400 * _SECOND
# The first day that the older calendar leaves out, in days since 1970, and the number of days that it leaves out.
_FIRST_SKIPPED, _SKIPPED = -141_437, 10
_YEAR_1900 = -2_208_988_800
# Fractions below a millisecond are read back correctly.
_BEFORE_1970 = (-999_000, 0)


@dataclass(frozen=True)
class HeldTimes:
    """The dates and times that are read back as they were written; by default those of ORC in UTC.

    Attributes:
        holes: spans that cannot be held, each from and to (excluded) in microseconds since 1970, in order.
        clock_jumps: whether the session's zone skips local times, which a cast moves.
    """

    holes: tuple[tuple[int, int], ...] = (
        (_FIRST_SKIPPED * _DAY, (_FIRST_SKIPPED + _SKIPPED) * _DAY),
        _BEFORE_1970,
    )
    clock_jumps: bool = False

    @classmethod
    def of(cls, spark: SparkSession, java: Any, file_format: str) -> HeldTimes:
        """The dates and times that a table of this session holds.

        Args:
            java: Java's packages by name.
            file_format: ``orc`` or ``parquet``.
        """
        zones = java.java.util.TimeZone
        session = zones.getTimeZone(spark.conf.get("spark.sql.session.timeZone"))
        clock_jumps = not session.toZoneId().getRules().isFixedOffset()
        holes = _local_holes(java, zones.getDefault().toZoneId().getRules())
        return cls((*holes, _BEFORE_1970) if file_format == "orc" else holes, clock_jumps)

    @staticmethod
    def date_sql(value: str) -> str:
        """SQL that is true where a date is held; only years of four digits are held."""
        bounds = f"{value} between date '0001-01-01' and date '9999-12-31'"
        return f"{bounds} and {value} not between date '1582-10-05' and date '1582-10-14'"

    def timestamp_sql(self, value: str) -> str:
        """SQL that is true where a time stamp is held. For present-day values, its first comparisons decide."""
        first, last = "timestamp '0001-01-01 00:00:00'", "timestamp '9999-12-31 23:59:59.999999'"
        branches, held = [], f"{value} <= {last}"
        for start, end in reversed(self.holes):
            branches.append(f"when {value} >= timestamp_micros({end}) then {held}")
            branches.append(f"when {value} >= timestamp_micros({start}) then false")
            held = "true"
        return f"case {' '.join(branches)} else {value} >= {first} end"


def _local_holes(java: Any, rules: Any) -> tuple[tuple[int, int], ...]:
    """Spans that are ambiguous in Java's zone: skipped days, and times before 1900 that clocks showed twice."""
    noon = java.java.time.LocalDateTime.of(1582, 10, 10, 12, 0)
    start = _FIRST_SKIPPED * _DAY - rules.getOffset(noon).getTotalSeconds() * _SECOND
    holes = [(start, start + _SKIPPED * _DAY)]
    for transition in rules.getTransitions():
        at = transition.toEpochSecond()
        if at >= _YEAR_1900:
            break
        if transition.isOverlap():
            holes.append(((at + transition.getDuration().getSeconds()) * _SECOND, at * _SECOND))
    return tuple(holes)
