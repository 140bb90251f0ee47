"""Values to call macros with: by the argument's name where that is a word of ours, otherwise by its type."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from dbt.adapters.contracts.relation import RelationType
from dbt.adapters.lakemerge.column import LakemergeColumn
from dbt.adapters.lakemerge.relation import LakemergeRelation

from lakemerge.engine.history.layout import HistoryLayout
from lakemerge.engine.history.scd2_plan import Scd2Plan
from lakemerge.engine.history.snapshots import SnapshotPlan
from lakemerge.engine.ingest.ingest_options import IngestOptions
from lakemerge.engine.ingest.ingest_plan import IngestPlan, RecordGroup
from lakemerge.engine.ingest.record_rules import RecordRule
from lakemerge.engine.ingest.record_types import RecordColumn, TypedField, ValueType
from lakemerge.engine.ingest.route_plan import RouteColumn, RoutePlan, RoutingPlan
from lakemerge.engine.merge.ledger import LedgerPurpose, Part
from lakemerge.engine.merge.merge_plan import MergeColumn, MergePlan
from lakemerge.engine.options.write import WriteConfig
from lakemerge.engine.relations.table_schema import ColumnPlan, SchemaPlan
from lakemerge.engine.statements.row_changes import Changes
from lakemerge.engine.versions.comparison import ComparedColumn
from lakemerge.ingest import LandingRules

# Arguments that, by their names, are queries.
QUERY_ARGUMENTS = r"(.*_)?(sql|query|compiled_code)"


class Placeholder:
    """Stands for a value nobody knows: any attribute, item or call of it is a placeholder, too."""

    # what jinja's sandbox asks before it lets a template call something
    unsafe_callable = False
    alters_data = False

    def __init__(self, name: str) -> None:
        self._name = name

    def __str__(self) -> str:
        return self._name

    def __getattr__(self, name: str) -> Placeholder:
        if name.startswith("__"):
            raise AttributeError(name)
        return Placeholder(f"{self._name}_{name}")

    def __getitem__(self, key: object) -> Placeholder:
        return Placeholder(f"{self._name}_{key}")

    def __call__(self, *_args: object, **_kwargs: object) -> Placeholder:
        return self

    def __iter__(self) -> Iterator[Placeholder]:
        return iter([Placeholder(f"{self._name}_1"), Placeholder(f"{self._name}_2")])

    def __len__(self) -> int:
        return 2

    def __add__(self, other: object) -> Placeholder:
        return self

    __radd__ = __sub__ = __rsub__ = __mul__ = __add__

    def __lt__(self, other: object) -> bool:
        return True

    __gt__ = __le__ = __ge__ = __lt__


def relation(name: str) -> LakemergeRelation:
    """A sample table of that name."""
    made: LakemergeRelation = LakemergeRelation.create(
        schema="sample_schema", identifier=name, type=RelationType.Table
    )
    return made


class SamplePartitions(Placeholder):
    """The partitions of a table, or none."""

    def __init__(self, partitioned: bool) -> None:
        super().__init__("txn_partitions")
        self._partitioned = partitioned

    def __bool__(self) -> bool:
        return self._partitioned


class SampleTransaction(Placeholder):
    """A write to a table of three columns, with a placeholder for what only a metastore knows."""

    def __init__(self, columns: tuple[ColumnPlan, ...]) -> None:
        super().__init__("txn")
        self.plan = SchemaPlan(columns)
        self.partitions = SamplePartitions(any(column.is_partition for column in columns))


class SampleComparison:
    """Two versions of a table that differ."""

    def __init__(self, keys: tuple[str, ...], is_comparable: bool) -> None:
        self.keys, self.is_comparable = keys, is_comparable
        self.columns = [
            ComparedColumn(name, f"`{name}`", f"{{row}}.`{name}`") for name in ("product_id", "tags")
        ]


def _merge_columns(mode: Any, partitioned: bool) -> tuple[MergeColumn, ...]:
    return (
        MergeColumn(ColumnPlan("product_id", "bigint", True, True), "set", "{}"),
        MergeColumn(ColumnPlan("tags", "map<string,string>", True, True), mode, "map_entries({})"),
        MergeColumn(ColumnPlan("category", "string", True, True, partitioned), "set", "{}"),
    )


def _merge(mode: Any = "set", partitioned: bool = True, **changes: Any) -> MergePlan:
    columns = _merge_columns(mode, partitioned)
    plan = MergePlan(
        table="sample_schema.products",
        exists=True,
        keys=(columns[0], columns[2]),
        columns=columns,
        partitions=tuple(column for column in columns if column.plan.is_partition),
        sequence="(changed_at)",
        null_sequence="(changed_at) is null",
        stored_sequence="(changed_at)",
        deletes="operation = 'delete'",
        truncates="false",
        predicates=("dbt_internal_dest.category <> 'shoes'",),
        syncs=False,
        partition_known=False,
        ledger=LedgerPurpose(
            (Part("product_id", "bigint"), Part("category", "string")), (Part("changed_at", "bigint"),)
        ),
    )
    return replace(plan, **changes)


def _with_placeholder(plan: MergePlan) -> MergePlan:
    """The same, with a column that changes may not bring."""
    columns = [
        replace(column, unavailable="map_keys({}) = array('none')") if column.name == "tags" else column
        for column in plan.columns
    ]
    return replace(plan, columns=tuple(columns))


def _scd2(bitemporal: bool, split: bool, **changes: Any) -> Scd2Plan:
    merge = _merge(**changes)
    start_at, end_at, known_from, known_to, closed_in = (
        ColumnPlan(name, "bigint", False, True, name == "dbt_closed_in")
        for name in ("__start_at", "__end_at", "__known_from", "__known_to", "dbt_closed_in")
    )
    known = (known_from, known_to) if bitemporal else (None, None)
    own = [start_at, end_at, *(column for column in known if column), *([closed_in] if split else [])]
    return Scd2Plan(
        merge=merge,
        start_at=start_at,
        end_at=end_at,
        tracked=tuple(column for column in merge.columns if column not in merge.keys),
        known_from=known[0],
        known_to=known[1],
        layout=HistoryLayout(split=split, version=8),
        columns=tuple(
            sorted((*(c.plan for c in merge.columns), *own), key=lambda column: column.is_partition)
        ),
    )


def _snapshot(hard_deletes: str = "new_record", **changes: Any) -> SnapshotPlan:
    names = ("dbt_scd_id", "dbt_updated_at", "dbt_valid_from", "dbt_valid_to", "dbt_is_deleted")
    types = ("string", "timestamp", "timestamp", "timestamp", "string")
    own = (ColumnPlan(name, kind, True, True) for name, kind in zip(names, types, strict=True))
    layout = HistoryLayout(version=8)
    plan = SnapshotPlan(
        table="sample_schema.products_history",
        exists=True,
        unique_key="product_id, colour",
        keys=("dbt_unique_key_1", "dbt_unique_key_2"),
        columns=(
            ColumnPlan("product_id", "bigint", True, True),
            ColumnPlan("colour", "string", False, True),
            *own,
            ColumnPlan(layout.partition, "bigint", False, True, True),
        ),
        names={name: f"`{name}`" for name in names},
        current_values=("cast(date('9999-12-31') as timestamp)",),
        valid_to_current="cast(date('9999-12-31') as timestamp)",
        hard_deletes=hard_deletes,
        sees_deletes=hard_deletes != "ignore",
        is_adopted=True,
        may_have_ended=True,
        run_time="cast(current_timestamp() as timestamp)",
        layout=layout,
    )
    return replace(plan, **changes)


_STRATEGY = {
    "unique_key": ["product_id", "colour"],
    "updated_at": "changed_at",
    "row_changed": "snapshotted_data.dbt_valid_from < source_data.changed_at",
    "scd_id": "md5(cast(product_id as string))",
    "hard_deletes": "new_record",
}

_INTEGER, _STRING = ValueType("integer", "int"), ValueType("string", "string")
_TYPES = [
    _STRING,
    ValueType("char", "string", length=3),
    _INTEGER,
    ValueType("decimal", "decimal(8,2)", scale=2),
    *(ValueType(kind, kind) for kind in ("float", "boolean", "date", "timestamp", "binary")),
    ValueType("array", "array<int>", element=_INTEGER),
    ValueType("map", "map<string,int>", key=_STRING, element=_INTEGER),
    ValueType("struct", "struct<a:int,b:string>", members=(("a", _INTEGER), ("b", _STRING))),
]
_RECORD_COLUMNS = [
    RecordColumn(f"column_{kind.kind}", kind.sql, kind, f"field_{kind.kind}") for kind in _TYPES
]
_RECORD_COLUMNS.append(
    RecordColumn("_line", "bigint", ValueType("integer", "bigint"), "_line", "_lakemerge_line")
)


def _options(form: str, **changes: Any) -> IngestOptions:
    return IngestOptions(LandingRules(("/landing",)), form, **changes)


def _ingest(form: str, routing: RoutingPlan | None = None, **changes: Any) -> IngestPlan:
    options = _options(form, **changes)
    fields = tuple(column.field for column in _RECORD_COLUMNS if not column.constant)
    typed = {
        column.name: TypedField(f"_lakemerge_row.{column.field}", f"_lakemerge_row.{column.field}", "true")
        for column in _RECORD_COLUMNS
        if form == "orc" and not column.constant
    }
    problems = (("extra_field", "not declared: other"),) if form == "orc" else ()
    group = RecordGroup(
        "sample_lines",
        form,
        fields,
        options,
        tuple(_RECORD_COLUMNS),
        named=form == "orc",
        typed=typed,
        problems=problems,
        has_marks=form == "delimited",
        has_nulls=form == "regex",
    )
    constraints = {"not_null_column_string": "column_string is null"}
    rules = [
        RecordRule("char_length(column_char) >= 3", "bad_partition", "column_char", "expected a whole value")
    ]
    return IngestPlan(options, tuple(_RECORD_COLUMNS), constraints, rules, [group, group], routing=routing)


def _route(number: int, *, merges: bool) -> RoutePlan:
    feed = f"_lakemerge_feed_{number}"
    named = {f"column_{kind.kind}": kind for kind in _TYPES}
    columns = (
        RouteColumn(_RECORD_COLUMNS[3], "column_string", None),
        RouteColumn(
            _RECORD_COLUMNS[1],
            "column_string",
            TypedField("column_string", "column_string", "char_length(column_string) <= 3"),
        ),
        RouteColumn(
            RecordColumn("day", "date", named["column_date"], "day"),
            "column_date",
            TypedField("", "column_date", "true"),
        ),
    )
    return RoutePlan(
        value=f"table_{number}",
        table=f"sample_schema.table_{number}",
        feed=feed,
        columns=columns,
        flags={"__lakemerge_deletes": "column_char = 'd'"} if merges else {},
        rules=(RecordRule(f"{feed}.`day` is not null", "null_key", "day", "expected a value in the key"),),
        options=_options("json"),
        merges=merges,
    )


_ROUTING = RoutingPlan("column_string", False, (_route(0, merges=True), _route(1, merges=False)))
_PLANS = [
    _ingest("delimited"),
    _ingest("delimited", quote="", missing_fields="null", extra_fields="drop", encoding="ISO-8859-1"),
    _ingest("delimited", escape="!", date_format="dd.MM.yyyy", timestamp_format="dd.MM.yyyy HH:mm"),
    _ingest("json"),
    _ingest("regex", pattern="(a)(b)"),
    _ingest("orc"),
    _ingest("json", _ROUTING),
]
_SAMPLES: dict[str, list[Any]] = {
    "group": [_PLANS[number].groups[0] for number in (0, 3)],
    "options": [_PLANS[number].options for number in (0, 2)],
    "plan": _PLANS,
    "route": list(_ROUTING.routes),
    "route_column": list(_ROUTING.routes[0].columns),
    "routing": [_ROUTING, replace(_ROUTING, keeps_unknown=True)],
    "record_column": [column for column in _RECORD_COLUMNS if column.type.kind in ("decimal", "map")],
    "type": _TYPES,
    "collection": [kind for kind in _TYPES if kind.kind in ("array", "map", "struct")],
    "broadcast": [True, False],
    "column": [
        *(_merge_columns(mode, True)[1] for mode in ("set", "coalesce", "keep")),
        *(_with_placeholder(_merge(mode)).columns[1] for mode in ("set", "coalesce")),
    ],
    "column_plan": list(_snapshot().columns),
    "condition": ["category = 'shoes'"],
    "config": [WriteConfig()],
    "filter": ["category = 'shoes'"],
    "gather": ["rebalance", "one_task", ""],
    "join": ["broadcast", "one_task", ""],
    "has_ledger": [True, False],
    "select": ["products", ["products", "shop.*"]],
    "history": [HistoryLayout(version=8)],
    "kept": ["select * from sample_table", None],
    "merge": [
        _merge(),
        _merge(exists=False),
        _merge("coalesce"),
        _merge("keep"),
        _with_placeholder(_merge()),
        _merge(partitioned=False),
        _merge(partition_known=True),
        _merge(truncates="operation = 'truncate'"),
        _merge(sequence="", null_sequence="false", stored_sequence="", predicates=()),
        _merge(stored_sequence=""),
        _merge(syncs=True),
    ],
    "partitions": [_merge().partitions, ()],
    "prefix": ["sample_alias", None],
    "comparison": [
        SampleComparison(keys, comparable) for keys in ((), ("product_id",)) for comparable in (True, False)
    ],
    "kind": ["left", "inner"],
    "met": ["select * from sample_table", None],
    "remembered": ["select * from sample_table", None],
    "scan": [
        {
            "open_partitions": ["category=shoes/dbt_closed_in=0"],
            "closed_partitions": ["category=shoes/dbt_closed_in=3"],
            "open_filter": "category = 'shoes'",
            "closed_filter": "category <> 'shoes'",
        }
    ],
    "scd2": [_scd2(False, True), _scd2(True, True), _scd2(False, False), _scd2(False, True, exists=False)],
    "names": [["product_id", "colour"]],
    "snapshot": [
        _snapshot(),
        _snapshot("invalidate", keys=("dbt_unique_key",), current_values=(), valid_to_current="null"),
        _snapshot("ignore", exists=False),
    ],
    "strategy": [_STRATEGY],
    "txn": [
        SampleTransaction(tuple(column.plan for column in _merge_columns("set", partitioned)))
        for partitioned in (True, False)
    ],
}


#: The types of arguments of the macros that only the engine calls, by the arguments' names
#: (or the macro's and the argument's); others may be anything.
_NAMES: dict[str, str] = {
    "relation": "model quarantine relation target view",
    "bool": "broadcast dry_run gathers has_ledger has_new late moves_keys of_source rebalance rebuild rewrite "
    "target_exists truncates truncating with_ended",
    "list[any]": "groups lakemerge_partition_sql.partitions lakemerge_kept_rows_sql.partitions parts",
    "list[string]": "lakemerge_zordered_rows_sql.columns lakemerge_left_deltas_sql.left "
    "merged names partitions small touched",
    "integer": "lakemerge_delta_rows_sql.order change_files depth size",
    "string": "lakemerge_apply_strategy.strategy lakemerge_custom_strategy.strategy "
    "about changes compiled_code condition current_end end_at feed filter gather items join kept kind "
    "known_to language left mark matched name number one other pattern prefix reason records records_sql "
    "remembered right row start_at stored text token value variant",
}
#: Values for arguments whose name means something else elsewhere.
OF_MACROS: dict[str, list[Any]] = {
    "lakemerge_rows_by_keys_sql.join": ["left semi", "left anti"],
    "lakemerge_statement_changes_sql.changes": [
        [Changes("raw", "delete"), Changes("raw", "update", {"tags": "`value`"}, where="number = 1")],
        [Changes("new", "insert", {"tags": "`tags`"}, is_stored=False)],
    ],
}
KINDS = {name: kind for kind, names in _NAMES.items() for name in names.split()}


def sample_values(name: str, kind: str) -> list[Any]:
    """Values for an argument of one of the types that dbt knows for macro arguments."""
    kind = kind.replace(" ", "")
    own = _SAMPLES.get(name, ()) if kind in ("any", "string", "str") else ()
    if values := [value for value in own if kind == "any" or isinstance(value, str)]:
        return values
    if inner := re.fullmatch(r"optional\[(.*)\]", kind):
        return [*(value for value in sample_values(name, inner[1]) if value is not None), None]
    if inner := re.fullmatch(r"list\[(.*)\]", kind):
        return [[sample_values(f"{name}_{number}", inner[1])[0] for number in (1, 2)]]
    if inner := re.fullmatch(r"dict\[[^,]*,(.*)\]", kind):
        return [{f"{name}_key": sample_values(f"{name}_value", inner[1])[0]}]
    if re.fullmatch(QUERY_ARGUMENTS, name) and kind in ("string", "str", "any"):
        return ["select 1 as sample_key"]
    known: dict[str, list[Any]] = {
        "string": [name],
        "str": [name],
        "boolean": [True, False],
        "bool": [True, False],
        "integer": [3],
        "int": [3],
        "float": [0.5],
        "relation": [relation(name)],
        "column": [LakemergeColumn(name, "string")],
    }
    return known.get(kind, [Placeholder(name)])
