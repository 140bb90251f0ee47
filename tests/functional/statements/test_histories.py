"""Corrections and erasure in histories that a feed forms, and what later runs of the model make of them."""

from __future__ import annotations

from typing import Any

import pytest

from functional.merge.conftest import let_days_pass
from functional.statements.conftest import Statements
from lakemerge.engine.publish.result import CommitResult
from lakemerge.engine.publish.side_data import SideData
from lakemerge.engine.spark.session import application_of
from lakemerge.errors import UnsupportedStatement
from lakemerge.kernel import Kernel, Settings, TableName
from rings import of_rings

Row = tuple[Any, ...]
RULES: dict[str, Any] = {
    "unique_key": "id",
    "sequence_by": "ts",
    "apply_as_deletes": "op = 'D'",
    "except_column_list": ["op", "ts"],
    "stored_as_scd_type": 2,
    "track_history_except_column_list": ["email"],
}
#: The second version of 1 has absorbed a change; 2 was deleted and came back.
FEED = (
    (1, "rome", "a@x", 10, "U"),
    (1, "oslo", "a@x", 20, "U"),
    (1, "oslo", "b@x", 25, "U"),
    (2, "bonn", "c@x", 10, "U"),
    (2, "bonn", "c@x", 15, "U"),
    (2, "bonn", "c@x", 20, "D"),
    (2, "kiel", "d@x", 30, "U"),
    (3, "lyon", "e@x", 5, "U"),
)
VERSIONS = [
    (1, "oslo", "b@x", 20, None),
    (1, "rome", "a@x", 10, 20),
    (2, "bonn", "c@x", 10, 20),
    (2, "kiel", "d@x", 30, None),
    (3, "lyon", "e@x", 5, None),
]
KINDS: dict[str, dict[str, Any]] = {
    "split": {},
    "plain": {"history_layout": "plain"},
    "partitioned parquet": {"partition_by": ["city"], "file_format": "parquet"},
    "bitemporal": {"bitemporal": True},
    "named, several in the sequence": {
        "history_column_names": "dbt",
        "sequence_by": ["ts", "length(op)"],
        "history_partition": "closed in",
    },
}

EACH_KIND = of_rings(KINDS, ("split", "bitemporal"))


def query(rows: tuple[Row, ...] | list[Row]) -> str:
    values = ", ".join(
        f"({', '.join('null' if value is None else repr(value) for value in row)})" for row in rows
    )
    texts = "string(city) as city, string(email) as email"
    return f"select id, {texts}, ts, op from values {values} as f (id, city, email, ts, op)"


class History:
    """A history of :data:`FEED`, merged in two batches."""

    def __init__(self, statements: Statements, name: str, **options: Any) -> None:
        self.statements, self.options, self.name = statements, {**RULES, **options}, name
        self.table = statements.table(name)
        self.merge(*FEED[:2], *FEED[3:])
        self.merge(FEED[2])

    def merge(self, *rows: Row) -> CommitResult:
        return self.table.merge(query(rows), **self.options)

    def run(self, sql: str) -> CommitResult:
        return self.statements.run(sql.format(t=self.name))

    def versions(self, where: str = "true") -> list[Row]:
        dbt, several = self.options.get("history_column_names") == "dbt", "sequence_by" in self.options
        start, end = ("dbt_valid_from", "dbt_valid_to") if dbt else ("__start_at", "__end_at")
        if several and isinstance(self.options["sequence_by"], list):
            start, end = f"{start}.part_1", f"{end}.part_1"
        stands = " and __known_to is null" if self.options.get("bitemporal") else ""
        return self.statements.rows(
            f"select id, city, email, {start}, {end} from {self.name} where {where}{stands}"
        )

    @property
    def ledger_folders(self) -> list[str]:
        kernel = Kernel(application_of(self.statements.spark).ports, Settings())
        state, manifest = kernel.settled(TableName(self.statements.schema, self.name))
        return [state.layout.absolute(folder) for folder in manifest.sidecars.get("ledger", ())]

    def ledger(self, key: int) -> list[Row]:
        """What is remembered of a key: sequence, kind, email, and from where it is settled."""
        frame = self.statements.spark.read.orc(self.ledger_folders)
        from_ = "__from" if "__from" in frame.columns else "null"
        found = frame.where(f"__key_1 = {key}").selectExpr("__sequence", "__kind", "__row.email", from_)
        return sorted((tuple(row) for row in found.collect()), key=repr)

    def month_passes(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let the ledger forget all that it forgets after its retention."""
        let_days_pass(self.statements.spark, self.ledger_folders)
        with monkeypatch.context() as patched:
            patched.setattr(SideData, "has_many_folders", lambda *_: True)
            self.merge((9, "a", "a@x", 1, "U"), (9, "a", "b@x", 2, "U"))


@pytest.mark.slow
class TestErasure:
    @pytest.mark.parametrize("kind", EACH_KIND)
    def test_a_key_is_forgotten_and_may_come_back(self, statements: Statements, kind: str) -> None:
        history = History(statements, f"erased_{list(KINDS).index(kind)}", **KINDS[kind])
        assert history.versions() == VERSIONS
        done = history.run("delete from {t} where id = 1")
        assert done.deleted >= 2
        rest = [row for row in VERSIONS if row[0] != 1]
        assert history.versions() == rest
        assert statements.rows(f"select id from {history.name} where id = 1") == []
        # what was delivered before, all of it or a part
        for batch in (FEED, FEED[:1], FEED[2:3]):
            again = history.merge(*batch)
            assert (again.version, again.counts["ignored"]) == (None, len(batch))
        # and what nobody has seen, but is older than what was known
        assert history.merge((1, "late", "z@x", 12, "U")).version is None
        assert history.versions() == rest
        history.merge((1, "new", "n@x", 40, "U"), (1, "new", "m@x", 45, "U"), (2, "ulm", "d@x", 50, "U"))
        assert history.versions("id = 1") == [(1, "new", "m@x", 40, None)]
        history.merge((1, "split", "s@x", 42, "U"), *FEED)
        assert history.versions("id = 1") == [
            (1, "new", "m@x", 45, None),
            (1, "new", "n@x", 40, 42),
            (1, "split", "s@x", 42, 45),
        ]
        assert history.versions("id = 2") == [
            (2, "bonn", "c@x", 10, 20),
            (2, "kiel", "d@x", 30, 50),
            (2, "ulm", "d@x", 50, None),
        ]

    def test_the_ledger_keeps_no_row_of_an_erased_key(self, statements: Statements) -> None:
        history = History(statements, "unremembered")
        assert [row[:3] for row in history.ledger(1)] == [(20, "change", "a@x"), (25, "change", "b@x")]
        history.run("delete from {t} where id = 1")
        assert history.ledger(1) == [(25, "settled", None, None)]
        history.run("delete from {t}")
        assert history.versions() == []
        assert history.merge(*FEED).version is None
        assert history.ledger(2) == [(30, "settled", None, None)]

    def test_what_a_key_was_deleted_at_is_settled_too(self, statements: Statements) -> None:
        history = History(statements, "gone")
        history.merge((3, None, None, 9, "D"), (4, None, None, 7, "D"))
        history.run("delete from {t} where id = 3")
        assert history.merge((3, None, None, 9, "D"), FEED[-1], (3, "x", "x", 8, "U")).version is None
        assert history.ledger(3) == [(9, "settled", None, None)]
        assert [row[1] for row in history.ledger(4)] == ["delete"]

    def test_single_versions_are_deleted(self, statements: Statements) -> None:
        """As if the key had been deleted there: the versions beside it stay as they are."""
        history = History(statements, "single")
        assert history.run("delete from {t} where city in ('rome', 'kiel')").deleted == 2
        left = [row for row in VERSIONS if row[1] not in ("rome", "kiel")]
        assert history.versions() == left
        assert history.merge(*FEED).version is None
        assert history.versions() == left
        history.merge((1, "turin", "t@x", 5, "U"), (2, "jena", "j@x", 40, "U"))
        assert history.versions("id < 3") == [
            (1, "oslo", "b@x", 20, None),
            (1, "turin", "t@x", 5, 20),
            (2, "bonn", "c@x", 10, 20),
            (2, "jena", "j@x", 40, None),
        ]

    @pytest.mark.parametrize("months", of_rings([False, True], [True]))
    def test_an_absorbed_change_stays_known_before_a_deleted_version(
        self, statements: Statements, months: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The watermark of a key says what was forgotten of earlier versions, so it outlives its own."""
        history = History(statements, f"marked_{months}")
        more = ((2, "kiel", "d2@x", 35, "U"), (2, "kiel", "d3@x", 36, "U"))
        history.merge(*more)
        if months:
            history.month_passes(monkeypatch)
        history.run("delete from {t} where city = 'kiel'")
        kinds = [row[1] for row in history.ledger(2)]
        assert ("watermark" in kinds) == months, kinds
        assert all(row[2] in (None, "c@x") for row in history.ledger(2))
        assert history.merge(*FEED, *more).version is None
        assert history.versions("id = 2") == [(2, "bonn", "c@x", 10, 20)]
        history.merge((2, "jena", "j@x", 40, "U"))
        assert history.merge(*FEED, *more).version is None
        assert history.versions("id = 2") == [(2, "bonn", "c@x", 10, 20), (2, "jena", "j@x", 40, None)]


class TestCorrections:
    @pytest.mark.slow
    @pytest.mark.parametrize("kind", EACH_KIND)
    def test_a_correction_stays(self, statements: Statements, kind: str) -> None:
        history = History(statements, f"corrected_{list(KINDS).index(kind)}", **KINDS[kind])
        text = "update {t} set email = 'hidden', city = upper(city) where city in ('oslo', 'bonn')"
        assert history.run(text).updated >= 2
        wanted = [
            (id_, city.upper(), "hidden", *bounds)
            if city in ("oslo", "bonn")
            else (id_, city, email, *bounds)
            for id_, city, email, *bounds in VERSIONS
        ]
        assert history.versions() == sorted(wanted, key=repr)
        for batch in (FEED, FEED[1:2], FEED[2:3], FEED[4:5]):
            assert history.merge(*batch).version is None
        assert history.versions() == sorted(wanted, key=repr)
        # newer changes go on from it, and what they change can be split again
        history.merge((1, "OSLO", "new@x", 40, "U"), *FEED)
        assert history.versions("city = 'OSLO'") == [(1, "OSLO", "new@x", 20, None)]
        history.merge((1, "bergen", "y@x", 30, "U"))
        assert history.versions("id = 1 and city <> 'rome'") == [
            (1, "OSLO", "hidden", 20, 30),
            (1, "OSLO", "new@x", 40, None),
            (1, "bergen", "y@x", 30, 40),
        ]

    @pytest.mark.slow
    def test_no_row_of_before_is_remembered(self, statements: Statements) -> None:
        history = History(statements, "anonymous")
        history.run("update {t} set email = null where id = 1")
        assert history.ledger(1) == [(20, "settled", None, 10), (25, "settled", None, 20)]
        history.run("update {t} set city = 'x' where id = 1 and __end_at is null")
        assert history.ledger(1) == [(20, "settled", None, 10), (25, "settled", None, 20)]

    @pytest.mark.slow
    def test_after_the_retention(self, statements: Statements, monkeypatch: pytest.MonkeyPatch) -> None:
        history = History(statements, "later")
        history.month_passes(monkeypatch)
        assert [row[:3] for row in history.ledger(1)] == [(25, "watermark", "b@x")]
        history.run("update {t} set email = 'hidden' where city = 'oslo'")
        assert ("watermark", "hidden") in [row[1:3] for row in history.ledger(1)]
        assert history.merge(*FEED).version is None
        history.merge((1, "oslo", "new@x", 40, "U"))
        history.merge((1, "bergen", "y@x", 30, "U"), *FEED)
        assert history.versions("id = 1 and city <> 'rome'") == [
            (1, "bergen", "y@x", 30, 40),
            (1, "oslo", "hidden", 20, 30),
            (1, "oslo", "new@x", 40, None),
        ]

    def test_a_merge_corrects_and_deletes(self, statements: Statements) -> None:
        history = History(statements, "merged")
        source = "(select 1 as id, 'm@x' as email union all select 2, null) as s"
        done = history.run(
            f"merge into {{t}} as t using {source} on t.id = s.id and t.__end_at is null "
            "when matched and s.email is null then delete when matched then update set email = s.email"
        )
        assert (done.updated, done.deleted) == (1, 1)
        assert history.merge(*FEED).version is None
        assert history.versions("id < 3") == [
            (1, "oslo", "m@x", 20, None),
            (1, "rome", "a@x", 10, 20),
            (2, "bonn", "c@x", 10, 20),
        ]

    def test_what_is_refused(self, statements: Statements) -> None:
        history = History(statements, "refusing")
        for text in (
            "update {t} set id = 9 where id = 1",
            "update {t} set __end_at = 9",
            "update {t} set dbt_closed_in = 0",
            "insert into {t} select * from {t}",
            "truncate table {t}",
            "merge into {t} t using (select 9 as id) s on t.id = s.id when not matched then insert (id) values (9)",
            "merge into {t} as t using (select 1 as id) as s on t.id = s.id when matched then update set id = 7",
        ):
            with pytest.raises(UnsupportedStatement):
                history.run(text)
        assert history.versions() == VERSIONS
        assert history.run("update {t} set email = 'x' where id = 77").version is None
