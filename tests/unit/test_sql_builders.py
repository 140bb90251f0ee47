"""Every Python function that puts a name or a text into SQL: whatever the name, the rest of the SQL stays the same."""

from __future__ import annotations

import ast
import dataclasses
import datetime
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from dbt.adapters.lakemerge.column import LakemergeColumn
from dbt.adapters.lakemerge.constraints import enforced_checks
from dbt.adapters.lakemerge.impl import LakemergeAdapter
from dbt.adapters.lakemerge.methods import ingest as ingest_methods
from dbt.adapters.lakemerge.relation import LakemergeRelation
from dbt.adapters.lakemerge.staged import rows
from pyspark.sql.types import ArrayType, IntegerType, MapType, StringType, StructField, StructType

from lakemerge.engine import event_times
from lakemerge.engine.consume import partition_frames
from lakemerge.engine.history.layout import HistoryLayout
from lakemerge.engine.ingest import record_source, record_types
from lakemerge.engine.ingest.ingest_options import IngestOptions
from lakemerge.engine.ingest.ingest_plan import IngestPlan, RecordGroup
from lakemerge.engine.ingest.record_types import RecordColumn, ValueType
from lakemerge.engine.ingest.route_plan import RouteColumn, RoutePlan, RoutingPlan
from lakemerge.engine.layout import partition_values, partitions
from lakemerge.engine.merge import unavailable
from lakemerge.engine.merge.merge_plan import MergeColumn
from lakemerge.engine.merge_on_read import bounds, overlay_view
from lakemerge.engine.relations import casts, hash_inputs, nested_types, sized_text, store_assignment
from lakemerge.engine.relations.table_schema import ColumnPlan, comparable
from lakemerge.engine.sql_text import literal, qualified, quote, tokens
from lakemerge.engine.statements import conditions
from lakemerge.ingest import LandingRules
from lakemerge.kernel import HiveColumn, TableName, partition_name

pytestmark = pytest.mark.usefixtures("spark_4")

if TYPE_CHECKING:
    from lakemerge.consumer import Item, SourceSnapshot
    from lakemerge.engine.options.append import AppendConfig

SOURCES = Path(__file__).parents[2] / "src"
#: The packages whose functions write SQL.
PACKAGES = (SOURCES / "lakemerge" / "engine", SOURCES / "dbt" / "adapters" / "lakemerge")
#: What a function calls that puts a name or a text into SQL.
QUOTING = ("quote", "literal", "_literal", "qualified", "quoted")
PLAIN = "a plain name"
ODD = "`; drop'\"\\ -- {{ x }} <b>/*{}"

INT, TEXT = IntegerType(), StringType()
NOON = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.timezone.utc)


def struct(name: str, kind: Any = INT) -> StructType:
    return StructType([StructField(name, kind), StructField("other", MapType(TEXT, INT))])


def plan(name: str, kind: str = "int", **more: Any) -> ColumnPlan:
    return ColumnPlan(name, kind, True, True, **more)


def merged(name: str) -> MergeColumn:
    column = MergeColumn(plan(name, "varchar(3)"), "set", comparable("{}", struct("a")))
    return dataclasses.replace(column, unavailable=unavailable.unavailable_sql("{}", TEXT, "gone"))


def recorded(name: str, kind: str = "string") -> RecordColumn:
    return RecordColumn(
        name, kind, ValueType.of(kind) if kind == "varchar(3)" else ValueType("string", kind), name
    )


def options(**more: Any) -> IngestOptions:
    return IngestOptions(LandingRules(("/landing",)), "json", **more)


def group(name: str, form: str = "json", **more: Any) -> RecordGroup:
    return RecordGroup("view", form, (name,), options(**more), (recorded(name),))


def route(name: str) -> RoutePlan:
    column = RouteColumn(recorded(name), "source", None)
    return RoutePlan(name, "t", "feed", (column,), {}, (), options(), True)


def code_of(sql: str) -> str:
    """What is outside of strings, where these are made of a text in more ways than one."""
    return "".join(part for kind, part in tokens(sql) if kind == "code")


def keyed(name: str) -> list[HiveColumn]:
    return [HiveColumn(name, "string"), HiveColumn("p", "string")]


def of_partition(value: str) -> str:
    return partition_name(["a", "p"], [value, "x"])


#: What gives SQL, by the functions' names: each sample gets a name, or a text, and calls the function.
BUILDERS: Mapping[str, Callable[[str], object]] = {
    "column.LakemergeColumn.quoted": lambda name: LakemergeColumn(name, "int").quoted,
    "consume.partition_frames._is": lambda name: partition_frames._is(
        cast("SourceSnapshot", SimpleNamespace(partition_columns=keyed(name))),
        cast("Item", SimpleNamespace(partition=of_partition(name))),
    ),
    "consume.partition_frames._typed": lambda name: partition_frames._typed(HiveColumn(name, "int")),
    "event_times.in_range_sql": lambda name: event_times.in_range_sql(
        '"' + name.replace('"', "") + '"', NOON, NOON
    ),
    "history.layout.HistoryLayout.quoted": lambda name: HistoryLayout(partition=name).quoted,
    "history.layout.HistoryLayout.open_filter": lambda name: HistoryLayout(partition=name).open_filter,
    "history.layout.HistoryLayout.closed_filter": lambda name: HistoryLayout(partition=name).closed_filter,
    "impl.LakemergeAdapter.quote": LakemergeAdapter.quote,
    "impl.LakemergeAdapter.string_literal": lambda text: LakemergeAdapter.string_literal(
        cast("Any", None), text
    ),
    "ingest.ingest_options.IngestOptions.field_split": lambda text: (
        quote(text) + code_of(IngestOptions(LandingRules(("/in",)), field_delimiter=text).field_split)
    ),
    "ingest.ingest_options.IngestOptions.collection_split": lambda text: (
        quote(text)
        + code_of(IngestOptions(LandingRules(("/in",)), collection_delimiter=text).collection_split)
    ),
    "ingest.ingest_options.IngestOptions.map_key_split": lambda text: (
        quote(text) + code_of(IngestOptions(LandingRules(("/in",)), map_key_delimiter=text).map_key_split)
    ),
    # with a limit of the name's own length
    "methods.ingest._partition_rules": lambda name: [
        re.sub(r"\b\d\d\b", "n", rule.keeps)
        for rule in ingest_methods._partition_rules(
            [recorded(name)],
            cast("AppendConfig", SimpleNamespace(partition_by=[name], commit_column="_commit")),
        )
    ],
    "ingest.ingest_plan.RecordGroup.part_sql": lambda name: [
        group(name).part_sql(recorded(name)),
        group(name, "delimited", null_literal=name, quote='"').part_sql(recorded(name)),
    ],
    "ingest.ingest_plan.RecordGroup.field_sql": lambda name: group(name).field_sql(recorded(name)),
    "ingest.ingest_plan.RecordGroup.number_sql": lambda name: _numbers(name).number_sql(
        _numbers(name).columns[0]
    ),
    "ingest.ingest_plan.RecordGroup.numbers_type": lambda name: _numbers(name).numbers_type,
    "ingest.ingest_plan.RecordGroup.values_type": lambda name: group(name).values_type,
    "ingest.ingest_plan.RecordGroup.variants_sql": lambda name: group(name).variants_sql("found"),
    "ingest.ingest_plan.RecordGroup.field_names_sql": lambda name: group(name).field_names_sql,
    "ingest.ingest_plan.IngestPlan.valid_sql_of_exact": lambda name: IngestPlan(
        options(extra_fields="reject"), (recorded(name),), {}
    ).valid_sql_of_exact(group(name, "delimited", extra_fields="reject")),
    "ingest.ingest_plan.IngestPlan.pattern_sql": lambda text: (
        IngestPlan(options(pattern=text), (), {}).pattern_sql
    ),
    "ingest.record_source._array_sql": lambda name: record_source._array_sql([name, "b"]),
    "ingest.record_types.ValueType.numbers_sql": lambda name: (
        ValueType("struct", "", members=((name, ValueType("float", "double")),)).numbers_sql
    ),
    "ingest.record_types.ValueType.member_names": lambda name: (
        ValueType("struct", "", members=((name, ValueType("string", "string")),)).member_names
    ),
    "ingest.record_types.RecordColumn.quoted": lambda name: recorded(name).quoted,
    "ingest.record_types._constant_sql": lambda text: record_types._constant_sql(
        text, ValueType("string", "string")
    ),
    "ingest.record_types.typed_field": lambda name: str(
        record_types.typed_field(recorded(name, "varchar(3)"), StructType([StructField(name, TEXT)]))
    ),
    "ingest.route_plan.RoutePlan.literal": lambda name: route(name).literal,
    "ingest.route_plan.RoutePlan.value_of": lambda name: route(name).value_of(route(name).columns[0]),
    "ingest.route_plan.RoutingPlan.values_sql": lambda name: (
        RoutingPlan("by", True, (route(name),)).values_sql
    ),
    "ingest.route_plan.RoutingPlan.values_text": lambda name: (
        RoutingPlan("by", True, (route(name),)).values_text
    ),
    "layout.partition_values._escaped": lambda name: partition_values._escaped(quote(name)),
    "layout.partition_values._or_fail": lambda name: partition_values._or_fail(
        quote(name), "true", name, "1", 2, quote(name)
    ),
    "layout.partitions._one_of": lambda name: [
        partitions._one_of(HiveColumn(name, "string"), [name.replace("'", ""), "x"], "row."),
    ],
    "merge.merge_plan.MergeColumn.quoted": lambda name: merged(name).quoted,
    "merge.merge_plan.MergeColumn.from_feed": lambda name: merged(name).from_feed,
    "merge.merge_plan.MergeColumn.compared": lambda name: merged(name).compared("row"),
    "merge.merge_plan.MergeColumn.hashed": lambda name: merged(name).hashed("row"),
    "merge.merge_plan.MergeColumn.is_unavailable": lambda name: merged(name).is_unavailable("row"),
    "merge.unavailable.unavailable_sql": lambda text: (
        f"{quote(text)}{code_of(unavailable.unavailable_sql('v', TEXT, text))}"
    ),
    "merge.unavailable._literal": lambda text: quote(text) + code_of(unavailable._literal(text)),
    "merge.unavailable._of_array": lambda text: (
        f"{quote(text)}{code_of(unavailable.unavailable_sql('v', ArrayType(TEXT), text))}"
    ),
    "merge_on_read.bounds._literal": bounds._literal,
    "merge_on_read.overlay_view.overlay_text": lambda name: overlay_view.overlay_text(
        name, "t", [name], [name]
    ),
    "merge_on_read.overlay_view._listed": lambda name: overlay_view._listed([name, "b"]),
    "constraints.enforced_checks": lambda name: list(
        enforced_checks(
            {
                "config": {"contract": {"enforced": True}},
                "columns": {name: {"name": name, "constraints": [{"type": "not_null"}]}},
            }
        ).values()
    ),
    "relation.LakemergeRelation._render_iterator": lambda name: LakemergeRelation.create(
        schema=name.replace("`", ""), identifier=name.replace("`", "")
    ).render(),
    "relation.LakemergeRelation.quoted": lambda name: LakemergeRelation.create(
        schema="s", identifier="t"
    ).quoted(name),
    "relations.casts.lost_value_sql": lambda name: casts.lost_value_sql(plan(name)),
    "relations.hash_inputs.hash_inputs": lambda name: hash_inputs.hash_inputs(
        "value", ArrayType(struct(name))
    ),
    "relations.nested_types.rewritten": lambda name: comparable("value", struct(name)),
    "relations.nested_types.cast_by_name": lambda name: nested_types.cast_by_name(
        "value",
        StructType([StructField("x", INT), StructField(name, INT)]),
        StructType([StructField(name, INT), StructField("x", INT)]),
    ),
    "relations.nested_types.lost_value": lambda name: nested_types.lost_value(
        "value", struct(name, TEXT), struct(name), lambda value, kind: f"lost({value})"
    ),
    "relations.sized_text.fitted": lambda name: sized_text.fitted(quote(name), "varchar(3)", name),
    "relations.store_assignment.with_fields": lambda name: store_assignment.with_fields(
        "value", struct(name), {(name,): "1"}
    ),
    "relations.table_schema.ColumnPlan.quoted": lambda name: plan(name).quoted,
    "relations.table_schema.ColumnPlan._cast": lambda name: [
        plan(name).from_feed,
        plan(name, "char(3)").from_table,
    ],
    "statements.conditions.equal_to": lambda name: conditions.equal_to({name: name, "other": None}),
    "sql_text.qualified": lambda name: qualified(TableName(name, name)),
    "staged.rows.staged_sql": lambda name: rows.staged_sql(
        [HiveColumn(name, "int")], "files", "t", {name: "int"}, "true", [name]
    ),
    "staged.rows._published_column": lambda name: rows._published_column(HiveColumn(name, "int"), "bigint"),
}
#: What runs its SQL in Spark, or hands on what the functions above give. Odd names and values go through these in
#: tests/functional: merge/test_odd_names.py, adapter/odd_values, and the tests of the capability.
ON_SPARK = {
    *("maintenance.compaction._require_staged", "consume.consumption.Consumption.open"),
    *("erasure.conditions.require_searchable", "erasure.search.Search._ledger"),
    *("erasure.erase._delete", "erasure.erase._look", "erasure.erase._statement"),
    *("methods.consuming.ConsumingMethods.consume", "consume.partition_frames._by_table"),
    "methods.versions.VersionMethods.history_of",
    *(
        "consume.partition_frames.frame_of",
        "history.scd2_plan.Scd2Plan._row_in_table",
    ),
    *("history.scd2_plan.Scd2Plan.written", "methods.snapshots.SnapshotMethods.comparable_columns"),
    *("history.snapshots.SnapshotPlan.is_deleted", "history.snapshots.SnapshotPlan.make"),
    *("ingest.constants.require_exact", "ingest.route_plan._rules", "ingest.route_plan._sources"),
    *("ingest.route_plan.with_columns", "ingest.routing.Routing.finish", "layout.partition_values.checked"),
    *(
        "merge.sequences.SequenceZones.of",
        "merge_on_read.bounds.Bounds.matching",
    ),
    *(
        "publish.node_transaction.NodeTransaction.stage_delta",
        "publish.publisher.Publisher._node_transaction",
    ),
    *("request._begun", "request._give_feed"),
    *("relations.store_assignment.assigned", "statements.assignments._value"),
    *("statements.assignments.all_columns", "statements.assignments.new_values"),
    *(
        "statements.conditions._define",
        "statements.conditions._names_of",
    ),
    *(
        "statements.inserts.Insert.attempt",
        "statements.keys.rows_as_feed",
        "statements.erasing.EraseVersions.attempt",
    ),
    *(
        "statements.merge_into.MergeInto._compute_pairs",
        "statements.merge_into.MergeInto._inserts",
        "statements.merge_into.MergeInto._own",
    ),
    *("statements.plans.Plans.named", "statements.run.carry_out"),
    *("packaged_macros._Texts.quote", "packaged_macros._Texts.string_literal"),
    *("publish.publisher.Publisher._type_feed", "publish.publisher.Publisher.refresh"),
    *(
        "relations.casts.require_castable",
        "catalog.columns.columns_of",
        "relations.file_frames.frame_of_files",
    ),
    *("catalog.seeds._typed", "relations.sized_text.padded_columns", "relations.sized_text.with_lengths"),
    *("ruled_table.RuledTable._config_of", "staged_names.published_text", "staged.rows._in_version"),
    *("staged.rows._kept", "staged.rows.define_query", "staged.rows.define_rows"),
    *("transactions.rows.ChangeColumns.selected", "transactions.transaction.Transaction.commit"),
    "publish.amending.AmendedTransaction.stage_delta",
    "methods.versions.VersionMethods.changes",
    "methods.versions.VersionMethods.version_of",
    "versions.comparison.Comparison._in_shape",
    "versions.comparison.Comparison._rows",
    "versions.comparison.Comparison.columns",
    "versions.comparison.Comparison.is_comparable",
    "versions.comparison._cast",
    "versions.restore.restore",
    "versions.version_rows.VersionRows._changes",
    "versions.version_rows.VersionRows._newest_changes",
    "versions.version_rows.VersionRows.keys_in",
    "versions.version_rows.VersionRows.merged",
}
#: What has such names for something else: the quotes in files' lines, and the options of Java's command.
OTHERS = {
    *(
        "ingest.header_lines._tokens",
        "ingest.header_lines._unquoted",
        "ingest.ingest_options.IngestOptions._contradictions",
    ),
    *(
        "ingest.ingest_options.IngestOptions.escaped_pattern",
        "ingest.ingest_options.IngestOptions.field_pattern",
    ),
    *("ingest.ingest_plan.IngestPlan.rejects_nul", "spark.session._java_options", "sql_text._one_line"),
}


def _numbers(name: str) -> RecordGroup:
    column = RecordColumn(name, "double", ValueType("float", "double"), name)
    return RecordGroup("view", "json", (name,), options(), (column,))


def builders() -> Iterator[str]:
    """The functions that quote something, by the module in their package and their name."""
    for package in PACKAGES:
        for path in package.rglob("*.py"):
            module = ".".join(path.relative_to(package).with_suffix("").parts)
            yield from _builders(ast.parse(path.read_text(encoding="utf-8")), module)


def _builders(tree: ast.AST, place: str) -> Iterator[str]:
    for node in ast.iter_child_nodes(tree):
        name = f"{place}.{getattr(node, 'name', '')}"
        if isinstance(node, ast.ClassDef):
            yield from _builders(node, name)
        elif isinstance(node, ast.FunctionDef):
            used = {getattr(part, "id", getattr(part, "attr", "")) for part in ast.walk(node)}
            if used.intersection(QUOTING):
                yield name


def without_names(sql: object) -> str:
    """SQL with one placeholder for the odd name, however it is quoted."""
    text = (
        repr(sql)
        if not isinstance(sql, str | list)
        else "\n".join(map(str, [sql] if isinstance(sql, str) else sql))
    )
    for odd in (ODD, ODD.replace("'", ""), ODD.replace('"', ""), ODD.replace("`", "")):
        quoted = quote(odd)[1:-1]
        for form in (literal(quoted)[1:-1], literal(odd)[1:-1], quoted):
            text = text.replace(form, PLAIN)
    return text


@pytest.mark.parametrize("builder", BUILDERS)
def test_a_name_changes_nothing_but_itself(builder: str) -> None:
    made = BUILDERS[builder](ODD)
    assert without_names(made) == without_names(BUILDERS[builder](PLAIN))
    assert PLAIN in without_names(made)


def test_each_function_that_quotes_is_known() -> None:
    assert sorted(set(builders())) == sorted({*BUILDERS, *ON_SPARK, *OTHERS})


def test_a_placeholder_with_braces_is_a_text_like_others() -> None:
    column = dataclasses.replace(merged("c"), unavailable=unavailable.unavailable_sql("{}", TEXT, "a{}b"))
    made = column.is_unavailable("row")
    assert made.startswith("row.`c` in (")
    assert "row.`c`" not in made[len("row.`c`") :]
    assert r"'a{\u007Db'" in made
