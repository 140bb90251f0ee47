"""`char(n)` and `varchar(n)` as SQL has them: blanks do not tell values apart, and no longer text is stored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import run_dbt
from dbt_common.exceptions import DbtRuntimeError

import lakemerge
from functional.node_table import NodeTable
from lakemerge.errors import IncompatibleColumn

COLUMNS = "code char(5), grade char(4), name varchar(3), tags array<varchar(2)>, s struct<c:char(2)>, ts int"
FEED = "code string, grade string, name string, tags array<string>, s struct<c:string>, ts int"
HISTORY = ", __start_at int, __end_at int"

#: Strategies that match rows by their keys, with what their models say.
MATCHING: dict[str, dict[str, Any]] = {
    "copy on write": {"sequence_by": "ts"},
    "merge on read": {"sequence_by": "ts", "write_mode": "merge_on_read"},
    "no sequence": {},
    "history": {"sequence_by": "ts", "stored_as_scd_type": 2, "except_column_list": ["ts"]},
    "delete+insert": {"incremental_strategy": "delete+insert"},
}
#: Strategies that do not.
ADDING: dict[str, dict[str, Any]] = {
    "append": {"incremental_strategy": "append"},
    "insert_overwrite": {"incremental_strategy": "insert_overwrite"},
}


class Existing(NodeTable):
    """A table that another program has made, with a row whose texts are shorter than their columns."""

    def __init__(self, project: Any, config: dict[str, Any], file_format: str) -> None:
        given = {"materialized": "incremental", "incremental_strategy": "merge", **config}
        super().__init__(project, "sized", {"config": {**given, "file_format": file_format}, "columns": {}})
        keeps_history = config.get("stored_as_scd_type") == 2
        columns = COLUMNS.replace(", ts int", HISTORY) if keeps_history else COLUMNS
        self.sql(f"create table {{table}} ({columns}) stored as {file_format}")
        row = self._row(1 if keeps_history else None)
        with self.adapter.connection_named("another program"):
            spark = self.adapter.handle.spark.newSession()
            # it writes the texts without blanks, as many do
            spark.conf.set("spark.sql.legacy.charVarcharAsString", "true")
            spark.sql(f"insert into {self.relation.render()} {row}")

    @staticmethod
    def _row(start: int | None) -> str:
        end = "1, cast(null as int)" if start else "1"
        return f"select 'ab', 'A', 'x', array('t'), named_struct('c', 'q'), {end}"

    def write(self, code: str, grade: str, name: str, tag: str, member: str, ts: int) -> Any:
        strategy = self.model["config"]["incremental_strategy"]
        with self.adapter.connection_named(self.name):
            rows = [(code, grade, name, [tag], (member,), ts)]
            frame = self.adapter.handle.spark.createDataFrame(rows, FEED)
            frame.createOrReplaceTempView("lakemerge_feed")
            options = self.adapter.nodes.config(self.model, strategy)
            return self.adapter.nodes.publish(self.context, strategy, self.relation, options)

    def rows(self) -> list[tuple[Any, ...]]:
        return [
            tuple(row) for row in self.sql("select code, grade, name, tags[0], s.c from {table} order by 3")
        ]


@pytest.fixture(scope="class")
def models() -> dict[str, str]:
    return {
        "nothing.sql": "select 1 as id",
        "sized_contract.sql": "select 'ab' as code, '{{ var(\"text\", \"x\") }}' as name",
        "schema.yml": """
models:
  - name: sized_contract
    config: {materialized: table, contract: {enforced: true}}
    columns:
      - {name: code, data_type: char(5)}
      - {name: name, data_type: varchar(3)}
seeds:
  - name: sized_seed
    config: {column_types: {name: varchar(3)}}
""",
    }


@pytest.fixture(scope="class")
def seeds() -> dict[str, str]:
    return {"sized_seed.csv": "id,name\n1,abc\n"}


@pytest.fixture
def existing(project: Any) -> Iterator[Any]:
    made: list[Existing] = []

    def make(config: dict[str, Any], file_format: str = "orc") -> Existing:
        made.append(Existing(project, config, file_format))
        return made[-1]

    yield make
    for table in made:
        table.drop()


FORMATS = ["orc", pytest.param("parquet", marks=pytest.mark.slow)]
#: Of the fast ring.
FEW = ("copy on write", "merge on read", "history", "append")


def of_rings(modes: Iterable[str]) -> list[Any]:
    return [mode if mode in FEW else pytest.param(mode, marks=pytest.mark.slow) for mode in modes]


class TestExistingTables:
    @pytest.mark.parametrize("file_format", FORMATS)
    @pytest.mark.parametrize("mode", of_rings(MATCHING))
    def test_a_key_without_its_blanks_finds_its_row(self, existing: Any, mode: str, file_format: str) -> None:
        table = existing({"unique_key": "code", **MATCHING[mode]}, file_format)
        if mode != "delete+insert":
            again = table.write("ab", "A", "x", "t", "q", 1)  # the stored row, delivered again without blanks
            assert (again.inserted, again.updated, again.ignored) == (0, 0, 1)
        table.write("ab", "B ", "y", "u", "r", 2)
        ended = [("ab   ", "A   ", "x", "t", "q ")] if mode == "history" else []
        assert table.rows() == [*ended, ("ab   ", "B   ", "y", "u", "r ")]
        table.write("ab   ", "C", "z", "u", "r", 3)
        assert len(table.rows()) == len(ended) * 2 + 1

    @pytest.mark.parametrize("mode", of_rings({**MATCHING, **ADDING}))
    def test_a_longer_text_is_refused_and_blanks_beyond_the_length_go(self, existing: Any, mode: str) -> None:
        table = existing({"unique_key": "code", **{**MATCHING, **ADDING}[mode]})
        before = table.rows()
        fits = {"code": "ab", "grade": "A", "name": "x", "tag": "t", "member": "q", "ts": 2}
        for column, text in (("code", "abcdef"), ("name", "xyzz"), ("tag", "ttt"), ("member", "qqq")):
            with pytest.raises(DbtRuntimeError, match=r"IncompatibleColumn: .*at most \d+ characters in"):
                table.write(**{**fits, column: text})
        assert table.rows() == before
        table.write("ab       ", "A      ", "xyz   ", "t", "q", 2)
        assert ("ab   ", "A   ", "xyz", "t", "q ") in table.rows()


class TestTransactions:
    def test_a_programs_rows_match_and_fit_too(self, existing: Any, project: Any) -> None:
        table = existing({"unique_key": "code", "sequence_by": "ts"})
        table.write("cd", "A", "x", "t", "q", 1)
        name = f"{table.relation.schema}.{table.relation.identifier}"
        row = {"code": "ab", "grade": "D", "name": "p", "tags": ["t"], "s": ("q",), "ts": 5}
        with project.adapter.connection_named("program"):
            spark = project.adapter.handle.application.root
        with lakemerge.transaction(name, spark=spark) as changes:
            changes.upsert(name, [row])
        assert [found[1] for found in table.rows()] == ["D   ", "A   "]
        too_long = pytest.raises(IncompatibleColumn, match="at most 3 characters in name")
        with too_long, lakemerge.transaction(name, spark=spark) as changes:
            changes.upsert(name, [{**row, "name": "long", "ts": 6}])
        assert [found[1] for found in table.rows()] == ["D   ", "A   "]


class TestDeclaredLengths:
    def types(self, project: Any, table: str) -> dict[str, str]:
        rows = project.run_sql(f"describe {project.test_schema}.{table}", fetch="all")
        return {row[0]: row[1] for row in rows}

    def test_a_contract_gives_and_checks_them(self, project: Any) -> None:
        run_dbt(["run", "--select", "sized_contract"])
        assert self.types(project, "sized_contract") == {"code": "char(5)", "name": "varchar(3)"}
        (result,) = run_dbt(
            ["run", "--select", "sized_contract", "--vars", "{text: abcdef}"], expect_pass=False
        )
        assert "IncompatibleColumn: Expected texts of at most 3 characters in name" in result.message
        found = project.run_sql(f"select code, name from {project.test_schema}.sized_contract", fetch="all")
        assert [tuple(row) for row in found] == [("ab   ", "x")]

    def test_a_seed_gives_and_checks_them(self, project: Any) -> None:
        run_dbt(["seed"])
        assert self.types(project, "sized_seed")["name"] == "varchar(3)"
        Path(project.project_root, "seeds", "sized_seed.csv").write_text("id,name\n1,abcd\n")
        (result,) = run_dbt(["seed"], expect_pass=False)
        assert "IncompatibleColumn" in result.message
