"""Publishing after tests without Spark: names, the run's registry, queries of staged rows, and results."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock, Mock

import pytest
from dbt.adapters.lakemerge import staged_names
from dbt.adapters.lakemerge.after_tests.hook import arrange_hook
from dbt.adapters.lakemerge.after_tests.methods import StagingMethods, publishes_after_tests
from dbt.adapters.lakemerge.after_tests.outcome import mark_published, mark_unpublished, what_stops
from dbt.adapters.lakemerge.cursor import ConnectionHandle
from dbt.adapters.lakemerge.relation import LakemergeRelation
from dbt.adapters.lakemerge.staged import run as runs
from dbt.adapters.lakemerge.staged.rows import GlobalView, staged_sql
from dbt.adapters.lakemerge.staged.run import StagedRun, StagedTable, StagedView, staged_run
from dbt.artifacts.schemas.results import NodeStatus, RunStatus, TestStatus
from dbt_common.exceptions import DbtRuntimeError
from dbt_common.invocation import reset_invocation_id

from kernel.support import COLUMNS, KEYS, stage
from lakemerge.engine.options.write import WriteConfig
from lakemerge.errors import InvalidConfig, InvalidTransactionState
from lakemerge.kernel import HiveColumn, Kernel, TableDefinition, TableName, staged_versions, suspend
from lakemerge.testing import memory_ports

ORDERS, BIG = TableName("shop", "orders"), TableName("shop", "big")


@pytest.fixture(autouse=True)
def _no_run(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(runs, "_run", None)
    yield
    staged_names.clear()


SPARK = Mock()


def view(name: str) -> GlobalView:
    return GlobalView(f"global_temp.lakemerge_staged_{name}", (f"lakemerge_staged_{name}",), SPARK)


def dropped() -> list[str]:
    """The views that were dropped since the last call."""
    names = [call.args[0] for call in SPARK.catalog.dropGlobalTempView.call_args_list]
    SPARK.reset_mock()
    return names


def relation(**more: Any) -> LakemergeRelation:
    made: LakemergeRelation = LakemergeRelation.create(schema="Shop", identifier="Orders", **more)
    return made


# -- names -------------------------------------------------------------------------------------


def test_a_relation_is_read_as_what_is_staged_in_dbts_frames_alone() -> None:
    staged_names.stand_in(ORDERS, view("1").name)
    assert relation().render() == "Shop.Orders"
    with staged_names.reading_staged():
        assert str(relation()) == view("1").name
        assert relation(limit=0).render_limited() == f"(select * from {view('1').name} where false limit 0)"
        assert relation().include(schema=False).render() == "Orders"
        assert relation().without_identifier().render() == "Shop"
        with staged_names.reading_staged():
            pass
        assert relation().render() == view("1").name
    assert relation().render() == "Shop.Orders"
    staged_names.clear()
    with staged_names.reading_staged():
        assert relation().render() == "Shop.Orders"


def test_a_view_is_made_of_the_tables_themselves() -> None:
    staged_names.stand_in(ORDERS, view("1").name)
    text = f"create or replace view shop.big as select * from {view('1').name} o"
    assert staged_names.names_staged(text)
    assert (
        staged_names.published_text(text)
        == "create or replace view shop.big as select * from `shop`.`orders` o"
    )


SOURCE = "cast('{0}' as string) as src /* {0} */ from {0} o -- {0}\n join {0}_2"


def test_strings_and_comments_name_the_tables_themselves() -> None:
    staged_names.stand_in(ORDERS, view("1").name)
    with staged_names.reading_staged():
        name = relation().render()
    seen = staged_names.runnable_text("select " + SOURCE.format(name))
    assert seen == (
        f"select cast('Shop.Orders' as string) as src /* Shop.Orders */ from {name} o -- Shop.Orders\n join {name}_2"
    )
    made = staged_names.published_text("create view v as select " + SOURCE.format(name))
    assert made == (
        "create view v as select cast('Shop.Orders' as string) as src /* Shop.Orders */ from `shop`.`orders` o "
        f"-- Shop.Orders\n join {name}_2"
    )


def test_a_text_about_staged_rows_reads_none() -> None:
    assert not staged_names.names_staged("select 'lakemerge_staged_' as a -- lakemerge_staged_rows")
    staged_names.stand_in(ORDERS, view("1").name)
    name = view("1").name
    assert not staged_names.names_staged(f"select '{name}' as a /* {name} */ from {name}_2")
    assert staged_names.names_staged(f"dbt.ref = {{'orders': '{name}'}}", in_strings=True)
    staged_names.show("global_temp.lakemerge_staged_9")
    assert staged_names.names_staged("select * from global_temp.lakemerge_staged_9")
    staged_names.clear()
    assert not staged_names.names_staged(f"select * from {name}, global_temp.lakemerge_staged_9")


def test_an_invocations_names_are_its_own() -> None:
    staged_names.stand_in(ORDERS, view("1").name)
    reset_invocation_id()
    with staged_names.reading_staged():
        assert relation().render() == "Shop.Orders"
        assert not staged_names.names_staged(view("1").name)
        staged_names.stand_in(ORDERS, view("2").name)
        assert relation().render() == view("2").name
        staged_names.clear("another invocation")
        assert relation().render() == view("2").name


# -- the registry ------------------------------------------------------------------------------


def waiting(kernel: Kernel) -> StagedTable:
    txn = kernel.create(TableDefinition(ORDERS, COLUMNS, KEYS))
    stage(kernel, txn, {"p=1": ["a"]})
    return StagedTable(ORDERS, "model.shop.orders", view("1"), txn, suspend(txn), Mock())


def test_a_run_knows_what_it_has_staged_until_its_end() -> None:
    kernel, run = Kernel(memory_ports()), staged_run()
    table = waiting(kernel)
    run.add(table)
    run.add(StagedView(BIG, "model.shop.big", view("2"), "create view"))
    assert staged_run() is run
    assert run.unique_ids == {"model.shop.orders", "model.shop.big"}
    assert run.tables == [table]
    assert [one.name for one in run.views] == [BIG]
    assert run.find(ORDERS) is table
    with pytest.raises(InvalidTransactionState, match="a second version"):
        run.add(StagedView(ORDERS, "model.shop.other", view("3"), ""))
    run.leave("a test failed")
    assert run.find(ORDERS) is None
    with pytest.raises(InvalidTransactionState, match="the run is over"):
        run.add(StagedView(TableName("shop", "late"), "model.shop.late", view("4"), ""))
    assert [one.left for one in staged_versions(kernel, ORDERS, table.transaction.layout)] == [
        "a test failed"
    ]
    run.close()
    assert dropped() == []
    run.drop_views()
    assert dropped() == ["lakemerge_staged_1", "lakemerge_staged_2"]
    run.drop_views()
    assert dropped() == [], "a later run may have made views of these names"


def test_a_run_that_was_cut_off_is_given_up_by_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, first = Kernel(memory_ports()), staged_run()
    table = waiting(kernel)
    first.add(table)
    for module in (runs, staged_names):
        monkeypatch.setattr(module, "get_invocation_id", lambda: "another")
    with staged_names.reading_staged():
        assert relation().render() == "Shop.Orders"
    second = staged_run()
    assert second is not first
    assert second.unique_ids == frozenset()
    assert table.transaction.state == "left"
    assert dropped() == ["lakemerge_staged_1"]
    with staged_names.reading_staged():
        assert relation().render() == "Shop.Orders"


def test_two_runs_are_told_apart() -> None:
    assert StagedRun("one").invocation == "one"


# -- rows --------------------------------------------------------------------------------------

COLUMNS_OF_ORDERS = (HiveColumn("id", "bigint"), HiveColumn("note", "varchar(9)"), HiveColumn("p", "string"))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            {
                "files": "g.f",
                "table": "t",
                "published": {"id": "int", "p": "string"},
                "kept": "not coalesce(`p` in ('1'), false)",
            },
            "select cast(`id` as bigint) as `id`, cast(null as string) as `note`, `p` from t "
            "where not coalesce(`p` in ('1'), false) union all select `id`, `note`, `p` from g.f",
        ),
        (
            {"files": "g.f", "table": None, "published": {}, "kept": "false"},
            "select `id`, `note`, `p` from g.f",
        ),
        (
            {
                "files": "g.f",
                "table": "t",
                "published": {"id": "bigint", "note": "string", "p": "string"},
                "kept": "true",
                "keys": ["id"],
            },
            "select `id`, `note`, `p` from (select t.* from t t left anti join g.f k on t.`id` = k.`id`) "
            "union all select `id`, `note`, `p` from g.f where not `_lakemerge_deleted`",
        ),
        (
            {"files": None, "table": None, "published": {}, "kept": "false"},
            "select cast(null as bigint) as `id`, cast(null as string) as `note`, cast(null as string) as `p` "
            "where false",
        ),
    ],
    ids=["some partitions", "all", "merged on read", "nothing"],
)
def test_staged_rows_take_the_place_of_those_that_they_replace(arguments: Any, expected: str) -> None:
    assert staged_sql(COLUMNS_OF_ORDERS, **arguments) == expected


# -- results -----------------------------------------------------------------------------------


def result(
    name: str, status: Any, kind: str = "model", reads: tuple[str, ...] = (), message: str = ""
) -> Any:
    node = SimpleNamespace(
        unique_id=f"{kind}.shop.{name}", name=name, resource_type=kind, depends_on_nodes=list(reads)
    )
    return SimpleNamespace(node=node, status=status, message=message, adapter_response={})


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        ([], ""),
        ([result("a", RunStatus.Success), result("t", TestStatus.Warn, "test")], ""),
        ([result("a", NodeStatus.NoOp, "exposure")], ""),
        (
            [
                result("b", RunStatus.Error, message="no such\n column"),
                result("t", TestStatus.Fail, "test", message="Got 1 result"),
                result("c", RunStatus.Skipped),
            ],
            "test t failed (Got 1 result); model b ended in an error (no such column)",
        ),
        ([result("b", RunStatus.PartialSuccess)], "model b is partial success"),
        ([result("c", RunStatus.Skipped)], "model c is skipped"),
        ([result("u", TestStatus.Fail, "unit_test")], "unit_test u failed"),
        (
            [result(f"m{n}", RunStatus.Error) for n in range(7)],
            "; ".join([*(f"model m{n} ended in an error" for n in range(5)), "and 2 more"]),
        ),
    ],
)
def test_whatever_did_not_end_well_stops_a_publication(results: list[Any], expected: str) -> None:
    assert what_stops(results) == expected


def test_results_say_what_was_not_published_so_that_a_retry_makes_it_again() -> None:
    orders, between = "model.shop.orders", "model.shop.between"
    results = [
        result("orders", RunStatus.Success),
        result("other", RunStatus.Success),
        result("after", RunStatus.Success, reads=(orders,)),
        result("good", TestStatus.Pass, "test", (orders,)),
        result("warned", TestStatus.Warn, "test", (orders,)),
        result("bad", TestStatus.Fail, "test", (orders,)),
        result("elsewhere", TestStatus.Pass, "test", ("model.shop.other",)),
        result("logic", TestStatus.Pass, "unit_test", (orders,)),
        result("farther", TestStatus.Pass, "test", (between,)),
    ]
    ephemeral = SimpleNamespace(unique_id=between, depends_on_nodes=[orders])
    mark_unpublished(results, [ephemeral], {orders}, "test bad failed")
    assert [one.status.value for one in results] == [
        "skipped", "success", "success", "skipped", "skipped", "fail", "pass", "skipped", "skipped",
    ]  # fmt: skip
    assert results[0].message == "Staged, and not published: test bad failed"
    assert isinstance(results[0].status, RunStatus)
    assert isinstance(results[3].status, TestStatus)
    assert results[4].adapter_response == {"_message": "warn, on rows that were not published"}


def test_tests_of_what_is_published_hold() -> None:
    orders, view = "model.shop.orders", "model.shop.view"
    results = [
        result("orders", RunStatus.Success),
        result("view", RunStatus.Success, reads=(orders,)),
        result("of_orders", TestStatus.Pass, "test", (orders,)),
        result("of_view", TestStatus.Pass, "test", (view,)),
        result("of_big", TestStatus.Pass, "test", ("model.shop.big",)),
    ]
    big = SimpleNamespace(unique_id="model.shop.big", depends_on_nodes=[view])
    mark_unpublished(results, [big], {view}, "no", published={orders, "model.shop.big"}, status="error")
    assert [one.status.value for one in results] == ["success", "error", "pass", "skipped", "pass"]


def test_results_name_the_versions_that_were_made() -> None:
    done = result("orders", RunStatus.Success, message="MERGE (3 inserted, staged)")
    shown = result("shown", RunStatus.Success, message="VIEW (staged)")
    mark_published(
        [done, shown, result("b", RunStatus.Success)], {"model.shop.orders": 7}, {"model.shop.shown"}
    )
    assert (done.message, done.adapter_response) == ("MERGE (3 inserted, version 7)", {"version": 7})
    assert shown.message == "VIEW"


def test_nothing_changes_the_published_table_while_its_next_version_waits() -> None:
    run = staged_run()
    staged_names.require_published(ORDERS, "drop")
    run.add(waiting(Kernel(memory_ports())))
    with pytest.raises(InvalidTransactionState, match="not to be staged by this run, to drop it"):
        staged_names.require_published(ORDERS, "drop")
    run.close()
    staged_names.require_published(ORDERS, "drop")


# -- options and the hook ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "expected"), [({}, False), ({"publish": "at_once"}, False), ({"publish": "After_Tests"}, True)]
)
def test_the_option(config: dict[str, Any], expected: bool) -> None:
    assert publishes_after_tests({"config": config}) is expected
    assert WriteConfig.of(config).publishes_after_tests is expected


def test_another_word_is_refused() -> None:
    with pytest.raises(InvalidConfig, match="publish must be one of at_once, after_tests, not 'later'"):
        publishes_after_tests({"config": {"publish": "later"}})


def test_the_hook_is_the_first_and_hidden_where_nothing_is_published_after_tests() -> None:
    def node(kind: str, package: str, **config: Any) -> Any:
        return SimpleNamespace(
            unique_id=f"{kind}.{package}.{package}-on-run-end-0",
            resource_type=kind,
            package_name=package,
            index=0,
            config=config,
            tags=["on-run-end"],
        )

    ours, theirs = node("operation", "dbt_lakemerge"), node("operation", "shop")
    manifest = SimpleNamespace(
        nodes={"a": ours, "b": theirs, "c": node("seed", "shop", publish="after_tests")}
    )
    arrange_hook(manifest, "shop")
    assert ours.tags == theirs.tags == ["on-run-end"]
    assert (ours.package_name, ours.index) < (theirs.package_name, theirs.index)
    seed = manifest.nodes.pop("c")
    arrange_hook(manifest, "shop")
    assert (ours.tags, theirs.tags) == ([], ["on-run-end"])
    assert list(manifest.nodes) == ["a", "b"]
    manifest.nodes["c"] = seed
    arrange_hook(manifest, "shop")
    assert ours.tags == ["on-run-end"]
    arrange_hook(SimpleNamespace(), "shop")
    arrange_hook(None, "shop")


def test_a_hook_fails_with_the_error_and_the_statement_after_it_runs() -> None:
    handle = ConnectionHandle(Mock(), Mock(), "master")
    error = DbtRuntimeError("NotPublished: another came first")
    handle.fail_next(error)
    with pytest.raises(DbtRuntimeError, match="another came first"):
        handle.cursor().execute("select 'not published'")
    handle.cursor().execute("select 1")


def test_a_command_that_began_meanwhile_in_this_process_is_no_silent_loss(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    orders = result("orders", RunStatus.Success, message="MERGE (3 inserted, staged)")
    orders.adapter_response = {"unpublished": True}
    methods: Any = StagingMethods(MagicMock(get_macro_resolver=lambda: SimpleNamespace(nodes={})))
    reset_invocation_id()  # the other command's
    other = staged_run()
    assert methods.publish([orders]) == "select 'what was staged is not published'"
    (failure,) = methods.handle.fail_next.call_args.args
    assert "another that began while this one had staged model.shop.orders" in str(failure)
    assert orders.status == RunStatus.Error
    other.add(StagedView(BIG, "model.shop.big", view("2"), "create view"))
    assert staged_run() is other, "the other one goes on"
