"""How the rows of rewritten partitions come into few files."""

from __future__ import annotations

from unittest.mock import Mock

import pytest

from lakemerge.engine.layout.gathering import by_tasks
from lakemerge.engine.layout.partitions import Partitions
from lakemerge.kernel import HiveColumn

MEGABYTE = 1024 * 1024


def partitions(*megabytes: int) -> Partitions:
    """Partitions `day=0`, `day=1` and so on with so much stored."""
    stored = {f"day={day}": Mock(bytes=size * MEGABYTE, files=1) for day, size in enumerate(megabytes)}
    base = Mock(partitions=stored, total_bytes=sum(megabytes) * MEGABYTE, properties={})
    return Partitions([HiveColumn("day", "int")], base)


def parts(
    *megabytes: int, new: int = 0, tasks: int = 2, columns: int = 12, file_size: int = 128
) -> list[tuple[str, str]] | None:
    """The filters of stored rows and of changes, without what they all have."""
    stored = partitions(*megabytes)
    touched = [*stored.stored, *(f"day={len(megabytes) + number}" for number in range(new))]
    found = by_tasks(stored, touched, tasks=tasks, columns=columns, file_size=file_size * MEGABYTE)
    if found is None:
        return None
    assert found.hint == "one_task"
    short = str.maketrans("", "", "`")
    return [
        (part.filter.translate(short), part.changes.replace("__new_row.", "").translate(short))
        for part in found.parts
    ]


def test_a_task_for_each_even_part() -> None:
    found = parts(5, 5, 9, 1, tasks=2)
    assert found is not None
    first, second = found
    assert first[0] == "(day in (cast('2' as int), cast('3' as int)))"
    assert second[0] == "(day in (cast('0' as int), cast('1' as int)))"
    # each change is in one part, whatever its value
    assert second[1] == f"coalesce({second[0]}, false)"
    assert first[1] == f"not ({second[1]})"


def test_little_is_one_part() -> None:
    assert parts(1, 2, 3, tasks=8) == [
        ("(day in (cast('0' as int), cast('1' as int), cast('2' as int)))", "true")
    ]
    assert parts(7, tasks=8) == [("(day in (cast('0' as int)))", "true")]


def test_new_partitions_are_spread() -> None:
    found = parts(10, 10, new=4, tasks=2)
    assert found is not None
    assert [filter_.count("cast") for filter_, _ in found] == [3, 3]


@pytest.mark.parametrize(
    ("megabytes", "options"),
    [
        pytest.param([100] * 40, {"tasks": 100}, id="more parts than Spark plans fast"),
        pytest.param([100] * 4, {"tasks": 4, "columns": 2_000}, id="many columns in several parts"),
        pytest.param([200, 10], {}, id="a partition of several files"),
        pytest.param([100, 1, 1], {"tasks": 8}, id="the others would wait for one"),
        pytest.param([], {}, id="nothing"),
    ],
)
def test_where_parts_do_not_pay(megabytes: list[int], options: dict[str, int]) -> None:
    assert parts(*megabytes, **options) is None


def test_a_wide_table_of_little_is_one_part() -> None:
    assert parts(1, 1, columns=2_000) is not None


def test_no_task_gets_more_than_spark_gives_it() -> None:
    found = parts(*[60] * 16, tasks=1)
    assert found is not None
    assert len(found) == 8


def test_a_table_without_partitions_is_one_part_if_it_is_small() -> None:
    base = Mock(partitions={"": Mock(bytes=7 * MEGABYTE, files=2)}, total_bytes=7 * MEGABYTE, properties={})
    options = {"tasks": 2, "columns": 12, "file_size": 128 * MEGABYTE}
    found = by_tasks(Partitions([], base), [""], **options)
    assert found is not None
    assert [(part.filter, part.changes) for part in found.parts] == [("true", "true")]
    base.partitions[""].bytes = base.total_bytes = 70 * MEGABYTE
    assert by_tasks(Partitions([], base), [""], **options) is None
