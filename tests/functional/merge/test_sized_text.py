"""`char(n)` and `varchar(n)` as SQL has them: blanks do not tell values apart, and no longer text is stored."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import run_dbt
from dbt_common.exceptions import DbtRuntimeError

import lakemerge
import lakemerge.writer
from functional.node_table import NodeTable
from lakemerge.errors import IncompatibleColumn, InvalidRecord
from lakemerge.kernel import Kernel
from rings import of_rings

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

    def write(
        self,
        code: str,
        grade: str,
        name: str,
        tag: str,
        member: str,
        ts: int,
        settings: Mapping[str, str] = {},
    ) -> Any:
        strategy = self.model["config"]["incremental_strategy"]
        with self.adapter.connection_named(self.name):
            for setting, value in settings.items():
                self.adapter.handle.spark.conf.set(setting, value)
            rows = [(code, grade, name, [tag], (member,), ts)]
            frame = self.adapter.handle.spark.createDataFrame(rows, FEED)
            frame.createOrReplaceTempView("lakemerge_feed")
            request = self.adapter.nodes.request(self.relation, self.model, strategy)
            return self.adapter.nodes.publish(self.context, request)

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


#: Of the fast ring.
FEW = ("copy on write", "history")


class TestExistingTables:
    @pytest.mark.parametrize("file_format", of_rings(["orc", "parquet"], ["orc"]))
    @pytest.mark.parametrize("mode", of_rings(MATCHING, FEW))
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

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "setting",
        [
            {"spark.sql.readSideCharPadding": "false"},
            {"spark.sql.legacy.charVarcharAsString": "true"},
        ],
        ids=lambda setting: next(iter(setting)).rpartition(".")[2],
    )
    @pytest.mark.parametrize("mode", of_rings(["copy on write", "merge on read"], ["merge on read"]))
    def test_blanks_are_ours_whatever_spark_makes_of_them(
        self, existing: Any, mode: str, setting: dict[str, str]
    ) -> None:
        table = existing({"unique_key": "code", **MATCHING[mode]})
        again = table.write("ab", "A", "x", "t", "q", 1, setting)
        assert (again.inserted, again.updated, again.ignored) == (0, 0, 1)
        table.write("ab", "B", "y", "u", "r", 2, setting)
        assert table.rows() == [("ab   ", "B   ", "y", "u", "r ")]
        with pytest.raises(DbtRuntimeError, match=r"IncompatibleColumn: .*at most 3 characters in name"):
            table.write("ab", "B", "long", "u", "r", 3, setting)

    @pytest.mark.slow
    @pytest.mark.parametrize("mode", of_rings({**MATCHING, **ADDING}, ["merge on read", "append"]))
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

    @pytest.mark.slow
    @pytest.mark.parametrize("mode", of_rings(["copy on write", "merge on read"], ["copy on write"]))
    def test_a_column_that_becomes_a_string_takes_longer_texts(self, existing: Any, mode: str) -> None:
        table = existing({"unique_key": "code", "on_schema_change": "sync_all_columns", **MATCHING[mode]})
        table.write("abcdef", "longer", "long", "tag", "member", 2)
        longer = ("abcdef", "longer", "long", "tag", "member")
        assert table.rows() == [longer, ("ab   ", "A   ", "x", "t", "q ")]
        types = {row[0]: row[1] for row in table.sql("describe {table}")}
        assert {types[name] for name in ("code", "grade", "name")} == {"string"}
        table.write("abcdef", "longest", "longest", "tag", "member", 3)
        assert table.rows()[0] == ("abcdef", "longest", "longest", "tag", "member")


@pytest.mark.slow
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


KINDS = {
    "orders": """
{{ config(materialized='incremental', unique_key='code', sequence_by='grade', partition_by='name',
          contract={'enforced': true}, on_schema_change='append_new_columns') }}
select 'ab' as code, 'A' as grade, 'x' as name
""",
    "log": """
{{ config(materialized='incremental', append_layout='commit_partitioned', partition_by='name',
          contract={'enforced': true}, on_schema_change='append_new_columns') }}
select 'ab' as code, 'A' as grade, 'x' as name
""",
    "landed": """
{{ config(materialized='ingest', format='json', landing=var('landing'), settle_seconds=0, route_by='kind',
          routes={'orders': {'table': 'orders'}, 'log': {'table': 'log'}}) }}
{% do ref('orders') %} {% do ref('log') %}
""",
    "parquet_files": """
{{ config(materialized='ingest', format='parquet', landing=var('landing') ~ '/../typed', settle_seconds=0) }}
""",
}
LENGTHS = {"code": "char(5)", "grade": "char(4)", "name": "varchar(3)"}
SNAPSHOT = """
{% snapshot kept %}
{{ config(strategy='check', unique_key='code', check_cols='all', hard_deletes='invalidate') }}
select {{ var('code', 'code') }} as code, {{ var('name', 'name') }} as name
from {{ target.schema }}.texts
{% endsnapshot %}
"""


@pytest.mark.slow
class TestOtherKinds:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        columns = [{"name": name, "data_type": kind} for name, kind in LENGTHS.items()]
        kinds = {"landed": [{"name": "kind", "data_type": "string"}]}
        models = [{"name": name, "columns": [*kinds.get(name, []), *columns]} for name in KINDS]
        files = {f"{name}.sql": text for name, text in KINDS.items()}
        return {**files, "schema.yml": json.dumps({"models": models})}

    @pytest.fixture(scope="class")
    def snapshots(self) -> dict[str, str]:
        return {"kept.sql": SNAPSHOT}

    @pytest.fixture(scope="class")
    def seeds(self) -> dict[str, str]:
        return {}

    @staticmethod
    def rows(project: Any, sql: str) -> list[tuple[Any, ...]]:
        with project.adapter.connection_named("reader"):
            found = project.adapter.handle.spark.sql(sql.format(schema=project.test_schema)).collect()
            return sorted(map(tuple, found))

    def test_ingest_routes_and_append_tables(self, project: Any, tmp_path: Path) -> None:
        landing = tmp_path / "landing"
        landing.mkdir()
        records = [
            *(("orders", "ab", "B", "y"), ("orders", "ab   ", "B ", "y"), ("orders", "ab", "A ", "late")),
            *(("orders", "ab", "AB", "z"), ("orders", "abcdef", "Z", "y"), ("log", "cd", "A", "zzz")),
            ("log", "cd", "A", "long"),
        ]
        texts = [json.dumps(dict(zip(("kind", *LENGTHS), record, strict=True))) for record in records]
        (landing / "1.json").write_text("".join(f"{text}\n" for text in texts))
        with project.adapter.connection_named("another program"):
            frame = project.adapter.handle.spark.createDataFrame(
                [record[1:] for record in records], "code string, grade string, name string"
            )
            frame.write.parquet(f"file://{tmp_path}/typed/made")
        run_dbt(["run", "--vars", json.dumps({"landing": str(landing)})])
        fits = [("ab   ", "A   ", "x"), ("cd   ", "A   ", "zzz")]
        # of the changes of one key, the one with the highest sequence, blanks aside
        assert self.rows(project, "select code, grade, name from {schema}.orders") == [("ab   ", "B   ", "y")]
        assert self.rows(project, "select code, grade, name from {schema}.log") == fits
        reasons = [("too_long", "code"), ("too_long", "name"), ("too_long", "name")]
        for files in ("landed", "parquet_files"):
            found = self.rows(project, f"select reason, column_name from {{schema}}.{files}__quarantine")
            assert found == reasons, files
            assert len(self.rows(project, f"select code from {{schema}}.{files} where code = 'ab   '")) == 3

        name = f"{project.test_schema}.log"
        with project.adapter.connection_named("program"):
            spark = project.adapter.handle.application.root
            kernel = Kernel(project.adapter.handle.application.ports)
        row = {"code": "ef", "grade": "Z", "name": "w"}
        with lakemerge.transaction(name, spark=spark) as changes:
            changes.append(name, row)
        too_long = pytest.raises(IncompatibleColumn, match="at most 3 characters in name")
        with too_long, lakemerge.transaction(name, spark=spark) as changes:
            changes.append(name, {**row, "name": "long"})
        with lakemerge.writer.open(name, kernel) as writer:
            writer.write([{**row, "name": "v"}])
            for longer in ({"code": "abcdef"}, {"name": "long"}):
                with pytest.raises(InvalidRecord, match="longer than"):
                    writer.write([{**row, **longer}])
            writer.commit()
        added = [("ef   ", "Z   ", "v"), ("ef   ", "Z   ", "w")]
        assert self.rows(project, "select code, grade, name from {schema}.log") == [*fits, *added]
        assert self.rows(project, "select code, grade, name from {schema}.log where code = 'ef'") == added

    def test_a_snapshot_finds_its_rows_by_keys_with_and_without_blanks(self, project: Any) -> None:
        table = f"{project.test_schema}.texts"
        project.run_sql(f"create table {table} (code char(5), name varchar(3)) stored as orc")
        project.run_sql(f"insert into {table} values ('ab', 'x'), ('cd', 'y')")
        run_dbt(["snapshot"])
        types = self.rows(project, "describe {schema}.kept")
        assert {("code", "char(5)"), ("name", "varchar(3)")} <= {row[:2] for row in types}
        first = [("ab   ", "x", True), ("cd   ", "y", True)]
        current = "select code, name, dbt_valid_to is null from {schema}.kept"
        assert self.rows(project, current) == first
        # the source's column becomes a string, as that of another system may be: its blanks go, the column stays
        string = {"code": "rtrim(code)"}
        run_dbt(["snapshot", "--vars", json.dumps(string)])
        assert self.rows(project, current) == first
        run_dbt(["snapshot", "--vars", json.dumps({**string, "name": "if(code = 'ab', 'z', name)"})])
        changed = [("ab   ", "x", False), ("ab   ", "z", True), first[1]]
        assert self.rows(project, current) == changed
        (result,) = run_dbt(
            ["snapshot", "--vars", json.dumps({"code": "concat(code, 'longer')"})], expect_pass=False
        )
        assert "IncompatibleColumn" in result.message
        assert self.rows(project, current) == changed
