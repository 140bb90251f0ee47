"""Random histories of commits: versions, diffs and changes agree with what was in the table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import pytest

import lakemerge
from examples import OFTEN
from functional.versions.conftest import KINDS, Recorded, texts

pytestmark = pytest.mark.slow

Make = Callable[..., Recorded]
#: The fast ring has one history, the slow one several of each kind.
CASES = [
    pytest.param(kind, seed, marks=() if (kind, seed) == ("on read", 0) else pytest.mark.slow)
    for kind in KINDS
    for seed in range(1 + OFTEN // 6)
]
#: Columns that only say where rows lie.
PLACES = {"_commit", "dbt_closed_in"}
ADDED = {"_change_type", "_commit_version", "_commit_timestamp"}


def statement(one: Recorded, text: str) -> None:
    lakemerge.sql(text.format(table=one.table.name), spark=one.spark)
    one.note()


def step(one: Recorded, kind: str) -> None:
    """One commit, or what makes several; the rows of each version that readers can have seen are noted."""
    number = one.draw.randrange(12)
    changes_rows = ["bring", "bring", "bring", "delete", "update", "insert"]
    choices = {"history": ["bring"], "commits": ["bring", "compact"]}.get(kind, [*changes_rows, "compact"])
    match one.draw.choice(choices):
        case "bring":
            one.bring(one.draw.choice([1, 4, 12]))
        case "delete":
            statement(one, f"delete from {{table}} where id >= {number} and id < {number + 3}")
        case "update":
            statement(one, f"update {{table}} set name = upper(name) where id < {number}")
        case "insert":
            fresh = 100 + len(one.rows)
            others = ", 'U'" if one.method == "append" else ""
            columns = "id, name, ts, op, region" if others else "id, name, ts, region"
            row = f"{fresh}, null, 1{others}, 'south'"
            statement(
                one,
                f"insert into {{table}} ({columns}) values ({row}), ({row.replace(str(fresh), str(fresh + 1000))})",
            )
        case "compact":
            one.table.compact(deltas="major" if kind == "on read" else None)
            one.note()


def plain(rows: Iterable[tuple[tuple[str, str | None], ...]]) -> Counter[Any]:
    """Rows without the columns that only say where they lie, counted."""
    return Counter(tuple(pair for pair in row if pair[0] not in PLACES) for row in rows)


def replayed(before: Counter[Any], frame: Any) -> Counter[Any]:
    """Rows after changes were applied, in the order of their commits."""
    found = Counter(before)
    columns = [name for name in frame.columns if name not in ADDED]
    changes = frame.selectExpr(*(f"cast(`{name}` as string) as `{name}`" for name in frame.columns)).collect()
    for row in sorted(changes, key=lambda row: int(row["_commit_version"])):
        key = tuple(sorted((name, row[name]) for name in columns))
        found[key] += 1 if row["_change_type"] in ("insert", "update_postimage") else -1
    return +found


class TestHistories:
    @pytest.mark.parametrize(("kind", "seed"), CASES)
    def test_versions_diffs_and_changes_agree(self, recorded: Make, kind: str, seed: int) -> None:
        one = recorded(kind, seed)
        one.bring()
        for _ in range(5):
            step(one, kind)
        table, last = one.table, max(one.rows)
        for version, rows in one.rows.items():
            assert texts(table.at(version=version).frame()) == rows, version
        # all changes, from an empty table on
        every = table.changes(to_version=last)
        assert replayed(Counter(), every) == plain(one.rows[last])
        net = table.changes(to_version=last, net=True)
        assert {row[0] for row in net.select("_change_type").distinct().collect()} <= {"insert"}
        assert replayed(Counter(), net) == plain(one.rows[last])
        # from one version to another
        first, middle = min(one.rows), sorted(one.rows)[len(one.rows) // 2]
        for start, end in ((first, last), (middle, last), (first, middle)):
            between = table.changes(from_version=start, to_version=end)
            assert replayed(plain(one.rows[start]), between) == plain(one.rows[end]), (start, end)
            net = table.changes(from_version=start, to_version=end, net=True)
            assert replayed(plain(one.rows[start]), net) == plain(one.rows[end]), (start, end)
            kinds = Counter(row["_change_type"] for row in net.select("_change_type").collect())
            diff = table.diff(from_version=start, to_version=end)
            assert (diff.inserted, diff.deleted, diff.updated) == (
                kinds["insert"],
                kinds["delete"],
                kinds["update_postimage"],
            )
            assert kinds["update_preimage"] == kinds["update_postimage"]
        # and back
        foreseen = table.restore(version=middle)
        done = table.restore(version=middle, dry_run=False)
        assert (done.inserted, done.updated, done.deleted) == (
            foreseen.inserted,
            foreseen.updated,
            foreseen.deleted,
        )
        assert texts(table.to_df()) == one.rows[middle]
        table.restore(version=last, dry_run=False)
        assert texts(table.to_df()) == one.rows[last]
        one.bring()
