"""Records whose values cannot be the name of a partition: each goes to quarantine, and keeps no other one out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import run_dbt

#: By model: how its table is written. Each has a record of its own name in the files.
TABLES = {
    "merged": "unique_key='id'",
    "beside": "unique_key='id', write_mode='merge_on_read'",
    "keyed": "unique_key=['id', 'part']",
    "appended": "incremental_strategy='append'",
    "log": "append_layout='commit_partitioned'",
}
MODEL = """
{{{{ config(materialized='incremental', partition_by='part', contract={{'enforced': true}},
          on_schema_change='append_new_columns', {config}) }}}}
select 0 as id, 'full' as part where false
"""
#: Four texts, each short enough for a directory, that are too long together.
FAR = [f"p{number}" for number in range(4)]
INGEST = """
{{{{ config(materialized='ingest', format='json', landing=var('landing'), settle_seconds=0, missing_fields='null',
          route_by='kind', routes={routes}, {config}) }}}}
{depends}
"""
COLUMNS = {"id": "int", "kind": "string", "part": "char( 4 )", **dict.fromkeys(FAR, "string")}


def columns(kinds: dict[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "data_type": kind} for name, kind in kinds.items()]


class TestUnfitPartitions:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        tables = {name: {"id": "int", "part": "char(4)"} for name in TABLES}
        files = {f"{name}.sql": MODEL.format(config=config) for name, config in TABLES.items()}
        far = ", ".join(f"'' as {name}" for name in FAR)
        by = f"materialized='incremental', incremental_strategy='append', partition_by={FAR}"
        files["far.sql"] = f"{{{{ config({by}) }}}} select 0 as id, {far} where false"
        routes = {name: name for name in (*TABLES, "far")}
        depends = " ".join(f"{{% do ref('{name}') %}}" for name in routes)
        files["routed.sql"] = INGEST.format(routes=routes, config="", depends=depends)
        own: dict[str, Any] = {"split": "['part']", "far_split": FAR}
        for name, columns_of_own in own.items():
            files[f"{name}.sql"] = INGEST.format(
                routes="none", config=f"partition_by={columns_of_own}", depends=""
            ).replace("route_by='kind', ", "")
        files["constant.sql"] = INGEST.format(
            routes="none", config="partition_by='part', partition_values={'part': 'ab'}", depends=""
        ).replace("route_by='kind', ", "")
        declared = {**tables, "routed": COLUMNS, **dict.fromkeys([*own, "constant"], COLUMNS)}
        models = [{"name": name, "columns": columns(kinds)} for name, kinds in declared.items()]
        return {**files, "schema.yml": json.dumps({"models": models})}

    @staticmethod
    def rows(project: Any, sql: str) -> list[tuple[Any, ...]]:
        with project.adapter.connection_named("reader"):
            found = project.adapter.handle.spark.sql(sql.format(schema=project.test_schema)).collect()
            return sorted(map(tuple, found))

    @pytest.mark.slow
    def test_each_goes_to_quarantine_alone(self, project: Any, tmp_path: Path) -> None:
        def land(name: str, records: list[dict[str, Any]]) -> None:
            (tmp_path / name).write_text("".join(f"{json.dumps(record)}\n" for record in records))

        texts = ["full", "ab", "ab  ", None, "more", ""]
        land(
            "1.json",
            [{"kind": kind, "id": n, "part": text} for kind in TABLES for n, text in enumerate(texts)]
            + [{"kind": "far", "id": 1, **dict.fromkeys(FAR, "short")}]
            + [{"kind": "far", "id": 2, **dict.fromkeys(FAR, "/" * 80)}]
            + [{"kind": "far", "id": 3, **dict.fromkeys(FAR, "x" * 170)}],
        )
        arguments = ["run", "--exclude", "constant", "--vars", json.dumps({"landing": str(tmp_path)})]
        run_dbt(arguments)
        fits: list[tuple[int, str | None]] = [(0, "full"), (4, "more")]
        null = [(3, None)]
        for table in TABLES:
            expected = fits if table == "keyed" else sorted([*fits, *null])
            found = self.rows(project, f"select id, part from {{schema}}.{table}")
            assert found == expected, table
        assert self.rows(project, "select id, p3 from {schema}.far") == [(1, "short"), (3, "x" * 170)]
        reasons = "select reason, column_name, count(*) from {{schema}}.{table}__quarantine group by 1, 2"
        short = ("bad_partition", "part", 3 * len(TABLES))
        far = ("too_long", "p3", 1)
        assert self.rows(project, reasons.format(table="routed")) == [
            # of the two problems of an empty text in a key, the first counts
            ("bad_partition", "part", 3 * len(TABLES) - 1),
            ("null_key", "part", 2),
            far,
        ]
        assert self.rows(project, reasons.format(table="split")) == [short]
        assert self.rows(project, reasons.format(table="far_split")) == [far]
        stored = self.rows(project, "select distinct part from {schema}.split where part is not null")
        assert stored == [("full",), ("more",)]

        land("2.json", [{"kind": kind, "id": 9, "part": "full"} for kind in TABLES])
        run_dbt(arguments)
        for table in TABLES:
            assert (9, "full") in self.rows(project, f"select id, part from {{schema}}.{table}"), table

    def test_a_constant_one_is_refused_before_anything_is_read(self, project: Any, tmp_path: Path) -> None:
        (tmp_path / "1.json").write_text('{"id": 1}\n')
        arguments = ["run", "--select", "constant", "--vars", json.dumps({"landing": str(tmp_path)})]
        (result,) = run_dbt(arguments, expect_pass=False)
        assert "partition_values that the columns give back" in result.message
        assert "part: 'ab', which is no whole value of a char(4)" in result.message
