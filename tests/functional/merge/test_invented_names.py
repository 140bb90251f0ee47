"""A column may have any name that our SQL gives to columns of its own, except those that begin with `_lakemerge_`."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
from dbt.adapters.lakemerge import impl
from dbt.include import lakemerge as package
from dbt.tests.util import run_dbt
from dbt_common.exceptions import DbtRuntimeError

import lakemerge
from rings import of_rings

from .joining import joined

MACROS = Path(package.PACKAGE_PATH) / "macros"
#: Where Python writes SQL.
PACKAGES = [Path(lakemerge.__file__).parent, Path(impl.__file__).parent]
_NAME = r"(?<![\w.])__[a-z]\w*[a-z0-9](?!__|\w|\()"
#: Columns that a history adds to its table, and can give other names; a feed that has them is refused.
OF_HISTORIES = {"__start_at", "__end_at", "__known_from", "__known_to"}


def invented() -> list[str]:
    """The names in our SQL, wherever it is written, and what readers' views and tables have besides."""
    texts = [file.read_text() for file in MACROS.rglob("*.sql")]
    texts += [file.read_text() for folder in PACKAGES for file in folder.rglob("*.py")]
    found = {name for text in texts for name in re.findall(_NAME, text)}
    found |= {
        "txn",
        "place",
        "ends",
        "partition_text",
        "partitions",
        "row_count",
        "stored",
        "latest",
        "resolved",
    }
    found |= {
        "b",
        "k",
        "s",
        "d",
        "base",
        "newest",
        "changes",
        "held",
        "step",
        "item",
        "entry",
        "old",
        "__key_3",
        "_metadata",
    }
    # those that ingest and snapshots once had
    found |= {
        f"__{name}"
        for name in ("ok", "raw", "row", "file", "line", "place", "tokens", "fields", "is_current")
    }
    return sorted(name for name in found - OF_HISTORIES if not re.match("_+lakemerge_", name))


NAMES = invented()
#: Whether a table has a share of the names, so that the tables of a test together have each, or all of them.
ALL_IN_ONE = [pytest.param(False, id="dealt"), pytest.param(True, id="all", marks=pytest.mark.slow)]
#: Of the fast ring: those whose SQL differs most.
FEW = ("partial updates", "merge on read", "bitemporal")


def dealt(names: Sequence[str], place: int, tables: int) -> list[str]:
    """The share of the table at a place among so many."""
    return list(names[place::tables])


def ddl(names: Sequence[str]) -> str:
    return "id int, region string, ts int, " + ", ".join(f"`{name}` int" for name in names)


#: What our SQL calls the sides of its joins, and some of its common table expressions.
SIDES = [
    *(
        "stored",
        "changes",
        "resolved",
        "remembered",
        "live",
        "latest",
        "source",
        "target",
        "b",
        "k",
        "s",
        "d",
        "t",
    ),
    *("hashed", "source_data", "snapshotted_data", "changed", "inserted", "closed", "feed", "old", "new"),
]

MODES: dict[str, dict[str, Any]] = {
    "merge": {"sequence_by": "ts", "partition_by": "region"},
    "predicates": {"incremental_predicates": ["DBT_INTERNAL_DEST.id < 100", "DBT_INTERNAL_SOURCE.id < 100"]},
    "no sequence": {},
    "sync": {"sequence_by": "ts", "sync": "full"},
    "partial updates": {"sequence_by": "ts", "ignore_null_updates": True},
    "sequence in the ledger": {"sequence_by": "ts", "merge_exclude_columns": ["ts"]},
    "truncates": {"sequence_by": "ts", "apply_as_truncates": "id is null", "merge_exclude_columns": []},
    "merge on read": {"sequence_by": "ts", "write_mode": "merge_on_read", "partition_by": "region"},
    "merge on read, keyed by such a name": {
        "unique_key": ["id", "__key_2"],
        "sequence_by": "ts",
        "write_mode": "merge_on_read",
    },
    "keyed by such names": {
        "unique_key": ["__key_2", "__row", "__sequence", "__is_delete"],
        "sequence_by": "ts",
    },
    "history": {"sequence_by": "ts", "stored_as_scd_type": 2, "partition_by": "region"},
    "bitemporal": {"sequence_by": "ts", "stored_as_scd_type": 2, "bitemporal": True},
}


def row(names: Sequence[str], key: int, ts: int, region: str, keys: Collection[str]) -> dict[str, Any]:
    """A row whose values tell of its key and change, but for those of the key itself."""
    values = {name: 1000 * key + number + (0 if name in keys else ts) for number, name in enumerate(names)}
    return {"id": key, "region": region, "ts": ts, **values}


def current(rows: list[dict[str, Any]], names: Sequence[str]) -> list[dict[str, Any]]:
    """The rows that are valid, in the feed's columns."""
    kept = ["id", "region", "ts", *names]
    return [
        {n: found[n] for n in kept}
        for found in rows
        if found.get("__end_at") is found.get("__known_to") is None
    ]


@pytest.mark.slow
class TestColumnsOfAnyName:
    @pytest.mark.parametrize("all_in_one", ALL_IN_ONE)
    @pytest.mark.parametrize("mode", of_rings(MODES, FEW))
    def test_values_of_all_names_go_round(self, merger: Any, mode: str, all_in_one: bool) -> None:
        config: dict[str, Any] = {"unique_key": ["id"], **MODES[mode]}
        keys = [name for name in config["unique_key"] if name != "id"]
        shares = NAMES if all_in_one else dealt(NAMES, list(MODES).index(mode), len(MODES))
        names = [*keys, *(name for name in shares if name not in keys)]
        table = merger(config, ddl(names))

        def made(key: int, ts: int, region: str = "n") -> dict[str, Any]:
            return row(names, key, ts, region, config["unique_key"])

        try:
            table.merge([made(1, 1), made(2, 1), made(3, 1, "s")])
            # a late change too, so that nothing can be skipped; in a full sync, a key that is gone
            late = [] if mode == "sync" else [made(2, 0)]
            for ts, by_one_task in ((2, True), (4, False)):
                with joined(by_one_task=by_one_task):
                    table.merge([made(1, ts), made(3, ts), *late])
            found = current(table.rows("id, ts"), names)
            expected = {1: made(1, 4), 2: made(2, 1 if "sequence_by" in config else 0), 3: made(3, 4)}
            if mode == "sync":
                del expected[2]
            if config.get("merge_exclude_columns"):  # the first change's sequence stays
                expected = {key: {**one, "ts": 1} for key, one in expected.items()}
            assert {one["id"]: one for one in found} == expected
            if "merge on read" in mode:
                self.compact(table)
                assert current(table.rows("id, ts"), names) == found
        finally:
            table.drop()

    @pytest.mark.parametrize("all_in_one", ALL_IN_ONE)
    @pytest.mark.parametrize(
        ("place", "mode"),
        [
            (0, "merge"),
            *(pytest.param(*one, marks=pytest.mark.slow) for one in [(1, "merge on read"), (2, "history")]),
        ],
    )
    def test_a_struct_that_is_named_as_a_side_of_a_join(
        self, merger: Any, place: int, mode: str, all_in_one: bool
    ) -> None:
        """Its fields have the names of the table's columns: what names a side and a column names no field."""
        sides = SIDES if all_in_one else dealt(SIDES, place, 3)
        fields = ", ".join(f"`{name}` struct<id:int,ts:int>" for name in sides)
        table = merger({"unique_key": ["id"], **MODES[mode]}, f"id int, region string, ts int, {fields}")

        def made(key: int, ts: int) -> dict[str, Any]:
            values = {name: {"id": -key, "ts": -ts - number} for number, name in enumerate(sides)}
            return {"id": key, "region": "n", "ts": ts, **values}

        def rows(*changes: dict[str, Any]) -> list[dict[str, Any]]:
            return [
                {name: tuple(v.values()) if isinstance(v, dict) else v for name, v in one.items()}
                for one in changes
            ]

        try:
            table.merge(rows(made(1, 1), made(2, 1)))
            for by_one_task in (True, False):
                with joined(by_one_task=by_one_task):
                    table.merge(rows(made(1, 4), made(2, 0), made(3, 4)))
            found = [one for one in table.rows("id, ts") if one.get("__end_at") is None]
            expected = [made(1, 4), made(2, 1), made(3, 4)]
            assert [{name: one[name] for name in expected[0]} for one in found] == expected
        finally:
            table.drop()

    @staticmethod
    def compact(table: Any) -> None:
        with table.adapter.connection_named("compaction"):
            table.adapter.execute_macro(
                "lakemerge_compact", kwargs={"select": f"{table.relation.schema}.{table.relation.identifier}"}
            )

    def test_a_name_of_ours_is_refused_before_anything_is_written(self, merger: Any) -> None:
        for name in ("_lakemerge_order", "__lakemerge_x", "_LAKEMERGE_y", "lakemerge_txn"):
            table = merger({"unique_key": "id"}, f"id int, `{name}` int")
            with pytest.raises(DbtRuntimeError, match=f"IncompatibleColumn.*{name.lower()}"):
                table.merge([{"id": 1, name: 1}])
            assert table.left() == []


# -- the other kinds of tables, in one project ---------------------------------------------------------

#: Names that these tables' configs have.
OF_CONFIGS = ["__action", "__key_1", "base", "stored"]
FEED = """
{{ config(materialized='table') }}
{% for key in ([1, 2] if not var('again', false) else [1, 4]) %}
{% set ts = 4 if var('again', false) else 1 %}
select {{ key }} as id, {{ ts }} as ts, 'orders' as kind, timestamp_seconds({{ ts }}) as at
{%- for name in var('names') %},
{{ 1000 * key + loop.index0 + (0 if name == '__key_1' else ts) }} as `{{ name }}`
{%- endfor %}
{{ 'union all' if not loop.last }}
{% endfor %}
"""
SELECTED = "select id, ts, {% for name in var('names') %}`{{ name }}`{{ ', ' if not loop.last }}{% endfor %} "
LANDED = """
{{ config(materialized='ingest', landing=var('landing') ~ '/' ~ this.name, settle_seconds=0, """
ROUTES = """{'orders': {'table': 'orders'}, 'log': {'table': 'log'}}"""
TABLES_OF_KINDS = {
    "feed": FEED,
    "orders": "{{ config(materialized='incremental', unique_key=['id', '__key_1'], sequence_by='ts') }}"
    + SELECTED
    + "from {{ ref('feed') }}",
    "log": "{{ config(materialized='incremental', append_layout='commit_partitioned') }}"
    + SELECTED
    + "from {{ ref('feed') }}",
    "plain_log": "{{ config(materialized='incremental') }}" + SELECTED + "from {{ ref('feed') }}",
    "json_files": LANDED
    + "format='json', route_by='kind', routes="
    + ROUTES
    + ") }}{% do ref('orders') %}{% do ref('log') %}",
    "text_files": LANDED + "null_literal='-') }}",
}
SNAPSHOT = "{{% snapshot {name} %}}{{{{ config(unique_key=['id', '__key_1'], {config}) }}}}{query}{{% endsnapshot %}}"
SNAPSHOTS = {
    "by_time": "strategy='timestamp', updated_at='at', hard_deletes='invalidate'",
    "by_values": "strategy='check', check_cols='all', hard_deletes='new_record'",
    "by_some_values": "strategy='check', check_cols=['__action', 'stored'], partition_by='base'",
}


@pytest.mark.slow
class TestOtherTables:
    #: A part of them, as the SQL of these tables differs less than that of merges; each in the class below.
    names: ClassVar[list[str]] = sorted({*OF_CONFIGS, *NAMES[::8]})

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        files = ("json_files", "text_files")
        columns = "".join(
            f"      - {{name: '{name}', data_type: int}}\n" for name in ("id", "ts", *self.names)
        )
        kind = "      - {name: kind, data_type: string}\n"
        declared = "".join(f"  - name: {name}\n    columns:\n{kind}{columns}" for name in files)
        return {f"{name}.sql": text for name, text in TABLES_OF_KINDS.items()} | {
            "files.yml": f"models:\n{declared}"
        }

    @pytest.fixture(scope="class")
    def snapshots(self) -> dict[str, str]:
        query = SELECTED.replace("id, ts", "id, ts, at") + "from {{ ref('feed') }}"
        return {
            f"{name}.sql": SNAPSHOT.format(name=name, config=config, query=query)
            for name, config in SNAPSHOTS.items()
        }

    def made(self, key: int, ts: int) -> tuple[int, ...]:
        """The values of a change, in the order of the columns: `id`, `ts` and the names."""
        values = (
            1000 * key + number + (0 if name == "__key_1" else ts) for number, name in enumerate(self.names)
        )
        return (key, ts, *values)

    def land(self, folder: Path, name: str, key: int, ts: int) -> None:
        """A record for each route and one that is refused, as JSON and as a line of texts."""
        values = dict(zip(("id", "ts", *self.names), self.made(key, ts), strict=True))
        records = [{"kind": kind, **values} for kind in ("orders", "log", "unknown")]
        lines = [",".join(map(str, record.values())) for record in records]
        lines[2] += ",one too many"
        for files, texts in (("json_files", map(json.dumps, records)), ("text_files", lines)):
            (folder / files).mkdir(exist_ok=True)
            (folder / files / name).write_text("".join(f"{text}\n" for text in texts))

    def test_values_of_all_names_go_round(self, project: Any, tmp_path: Path) -> None:
        made, schema = self.made, project.test_schema
        all_columns = ["id", "ts", *self.names]

        def rows(
            table: str, where: str = "true", columns: Collection[str] = all_columns
        ) -> list[tuple[Any, ...]]:
            selected = ", ".join(f"`{name}`" for name in columns)
            with project.adapter.connection_named("reader"):
                spark = project.adapter.handle.spark
                found = spark.sql(f"select {selected} from {schema}.{table} where {where}").collect()
                return sorted(map(tuple, found))

        given = {"landing": str(tmp_path), "names": self.names}
        self.land(tmp_path, "1", 3, 2)
        run_dbt(["build", "--vars", json.dumps(given)])
        self.land(tmp_path, "2", 3, 5)
        run_dbt(["build", "--vars", json.dumps({**given, "again": True})])
        with project.adapter.connection_named("program"):
            spark = project.adapter.handle.application.root
        with lakemerge.transaction(f"{schema}.orders", f"{schema}.log", spark=spark) as transaction:
            change = dict(zip(all_columns, made(5, 6), strict=True))
            transaction.upsert(f"{schema}.orders", change)
            transaction.append(f"{schema}.log", change)

        fed, landed = [made(1, 1), made(1, 4), made(2, 1), made(4, 4)], [made(3, 2), made(3, 5)]
        assert rows("orders") == [made(1, 4), made(2, 1), made(3, 5), made(4, 4), made(5, 6)]
        assert rows("log") == sorted([*fed, *landed, made(5, 6)])
        assert rows("plain_log") == fed
        for files in ("json_files", "text_files"):
            assert rows(files) == sorted([*landed, *landed])
            assert len(rows(f"{files}__quarantine", columns=["record"])) == 2
        for name in SNAPSHOTS:
            assert sorted(set(rows(name))) == fed, name
            gone = [] if name == "by_time" else [made(2, 1)]
            assert rows(name, "dbt_valid_to is null") == sorted([made(1, 4), *gone, made(4, 4)]), name


class TestOtherTablesOfAllNames(TestOtherTables):
    names = NAMES
