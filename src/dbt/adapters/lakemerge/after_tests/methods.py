"""The adapter's methods for publishing after tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from contextlib import suppress
from typing import Any

from dbt.adapters.base import BaseRelation, available
from dbt.adapters.contracts.connection import AdapterResponse
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.lakemerge import staged_names
from dbt.adapters.lakemerge.after_tests.hook import waits_for_tests
from dbt.adapters.lakemerge.after_tests.outcome import (
    mark_published,
    mark_unpublished,
    staged_by_another,
    what_stops,
)
from dbt.adapters.lakemerge.capability import Capability
from dbt.adapters.lakemerge.dbt_errors import as_dbt_error, config_errors
from dbt.adapters.lakemerge.dbt_log import warn_only
from dbt.adapters.lakemerge.relation import LakemergeRelation
from dbt.adapters.lakemerge.responses import STAGED, CommitResponse, NodeResponse
from dbt.adapters.lakemerge.staged.rows import define_query, define_rows
from dbt.adapters.lakemerge.staged.run import StagedRun, StagedTable, StagedView, staged_run
from dbt.adapters.lakemerge.staged.waiting import let_wait
from dbt_common.exceptions import DbtRuntimeError

from lakemerge.engine.lifecycle import Lifecycle
from lakemerge.engine.options.reader import OptionReader
from lakemerge.engine.publish.node_transaction import Publish
from lakemerge.engine.strategies import INCREMENTAL
from lakemerge.errors import (
    CommitInDoubt,
    CommitUnfinished,
    InvalidConfig,
    JavaDied,
    LakemergeError,
    NotPublished,
    TableNotFound,
    ViewNotMade,
)
from lakemerge.kernel import (
    Layout,
    Manifest,
    TableName,
    Transaction,
    find_row,
    is_overlay_view,
    resume,
    spelling_of,
    staged_versions,
    state_of,
    suspend,
)

logger = AdapterLogger("Lakemerge")

_AT_ONCE = "Set publish: at_once on it"
_LATER = (
    "publish: at_once on what it reads, or on the tables that its routes name; or build it by a later run."
)


class StagingMethods(Capability):
    """``adapter.staging``; see the macros in ``staging``."""

    # -- before a node runs ----------------------------------------------------------------------

    @available.parse_none
    def check(self, model: Mapping[str, Any], strategy: str | None = None) -> None:
        """Check that a node can publish when its config says so.

        Raises:
            CompilationError: the node is to wait for tests and cannot; or it would publish, without waiting, rows that
                depend on unpublished ones.
        """
        config, name = model["config"], model.get("name")
        with config_errors():
            reason = ""
            if model.get("resource_type") == "function":
                reason = "a function, which has no rows"
            elif config.get("materialized") == "ingest":
                reason = "an ingest, whose commits say which files and records are done"
            elif "microbatch" in (strategy, config.get("incremental_strategy")):
                reason = "a microbatch model, which makes a commit of each batch"
            elif strategy is not None and strategy not in INCREMENTAL:
                reason = f"a model with the project's own strategy {strategy}, whose statement writes at once"
            if not publishes_after_tests(model):
                self._require_published_inputs(model, cannot_wait=bool(reason))
            elif reason:
                raise InvalidConfig(
                    expected=f"a node whose rows are one commit of lakemerge, to publish {name} after tests",
                    found=reason,
                    action=f"{_AT_ONCE}, and on what it reads; models that read it may publish after tests.",
                )

    def _require_published_inputs(self, model: Mapping[str, Any], cannot_wait: bool) -> None:
        if self.reads_staged(model):
            raise InvalidConfig(
                expected=f"{model.get('name')} to be published after tests, as rows are that it reads",
                found="publish: at_once, while this run has staged rows of its inputs and not published them",
                action=f"Set {_LATER}" if cannot_wait else f"Set publish: after_tests on it too, or {_LATER}",
            )

    @available.parse(lambda *args, **kwargs: False)
    def reads_staged(self, model: Mapping[str, Any]) -> bool:
        """Whether a node depends on something that this run has staged: by ref, or in its compiled text."""
        inputs = (model.get("depends_on") or {}).get("nodes") or ()
        text = str(model.get("compiled_code") or "")
        return bool(staged_run().unique_ids & set(inputs)) or staged_names.names_staged(
            text, in_strings=model.get("language") == "python"
        )

    @available.parse(lambda *args, **kwargs: False)
    def stages_view(self, model: Mapping[str, Any]) -> bool:
        """Whether a view is made at the end of the run: its config says so, or it reads what is staged."""
        with config_errors():
            return publishes_after_tests(model) or self.reads_staged(model)

    @available.parse_none
    def require_published(self, model: Mapping[str, Any], relation: BaseRelation, sql: str) -> None:
        """Refuse a view of staged rows that is not one of the project's models: that of a test's failures."""
        if model.get("resource_type") != "model" and staged_names.names_staged(sql):
            with config_errors():
                raise InvalidConfig(
                    expected=f"{relation.render()} to be a table, because its failures are rows that are not published",
                    found="store_failures_as: view",
                    action="Set store_failures_as: table on the test.",
                )

    # -- staging -------------------------------------------------------------------------------

    def stage(
        self, name: TableName, model: Mapping[str, Any], life_of: Callable[[Publish], Lifecycle]
    ) -> CommitResponse:
        """Commit a node's rows, but let the version wait for the end of the run.

        Args:
            life_of: makes the life of the commit, of what takes the complete transaction.
        """
        handle = self.handle
        self._require_stageable(name)
        waiting: list[tuple[Transaction, Manifest]] = []
        life = life_of(lambda one: waiting.append((one, suspend(one))))
        done = life.commit()
        unique_id = str(model["unique_id"])
        for transaction, manifest in waiting:
            with self.guarded(f"read what is staged of {name}"):
                let_wait(handle, life, transaction, manifest, unique_id)
        if not waiting:
            staged_run().note_unchanged(name, unique_id)
        return CommitResponse.of(done)

    def _require_stageable(self, name: TableName) -> None:
        row = self.handle.application.metastore.get_table(name)
        if row is not None and row.kind == "VIRTUAL_VIEW" and not is_overlay_view(row):
            raise _refused(f"{name} to be a table, or not there", "a view")
        if self.handle.processing is not None:
            raise _refused(
                f"{name} to be built by a model that is done with its sources only by a commit of its own",
                "consume(), whose progress is part of each commit",
            )

    @available.parse_none
    def stage_view(
        self, relation: LakemergeRelation, model: Mapping[str, Any], statement: str, sql: str
    ) -> AdapterResponse:
        """Let a view wait for the end of the run, and the run's other nodes read its query meanwhile.

        Args:
            statement: makes the view.
            sql: its query.
        """
        name = relation.table_name
        row = self.handle.application.metastore.get_table(name)
        if row is not None and row.kind != "VIRTUAL_VIEW":
            raise _refused(f"{name} to be a view, or not there", "a table")
        run = staged_run()  # before its view is made, as for a table
        with self.guarded(sql):
            rows = define_query(self.handle.spark, sql, name)
            run.add(StagedView(name, str(model["unique_id"]), rows, statement))
        return NodeResponse(_message=f"VIEW ({STAGED})", code="VIEW", unpublished=True)

    def when_published(self, relation: LakemergeRelation, action: Callable[[], object]) -> bool:
        """Put something off until a table that is staged is published; false where it is not staged."""
        found = staged_run().find(relation.table_name)
        if isinstance(found, StagedTable):
            found.finish.append(action)
            return True
        return False

    # -- the end of the run --------------------------------------------------------------------

    @available.parse(lambda *args, **kwargs: "")
    def publish(self, results: Iterable[Any]) -> str:
        """Publish what the run has staged, in one commit; or nothing of it, if not all of its results are good.

        Args:
            results: dbt's, of the nodes of the run. They are updated to say what became of what was staged.

        Returns:
            The statement of the hook: empty, or one that fails with what went wrong.
        """
        run, results = staged_run(), list(results)
        if not results:  # the hook is only compiled
            return ""
        if lost := staged_by_another(run.unique_ids, results):
            return self._fail(self._not_ours(results, lost))
        run.end()  # after a failure with --fail-fast, a thread may still be at work: it stages nothing any more
        if not run.unique_ids:
            return ""
        try:
            stopped = what_stops(results)
            if stopped:
                self._leave(run, results, stopped)
                return ""
            failure = self._publish_all(run, results)
        finally:
            self._close(run)
        return "" if failure is None else self._fail(failure)

    def _fail(self, failure: DbtRuntimeError) -> str:
        with suppress(DbtRuntimeError):  # no connection, since Java has died: then the statement fails anyway
            self.handle.fail_next(failure)
        return "select 'what was staged is not published'"

    def _not_ours(self, results: list[Any], lost: Set[str]) -> DbtRuntimeError:
        """What to report where another dbt command has begun in this process: dbt keeps its state per process."""
        error = NotPublished(
            expected="one dbt command at a time in this process",
            found=f"another that began while this one had staged {', '.join(sorted(lost))}",
            action="Nothing of it was published. Run it again, and others after it or in processes of their own.",
        )
        self._mark(results, lost, str(error), status="error")
        return as_dbt_error(error)

    def _close(self, run: StagedRun) -> None:
        """Let names stand for their own tables again, and drop the views; if Java has died, the views went with it."""
        run.close()
        with suppress(DbtRuntimeError):
            handle = self.handle
            held = handle.held
            handle.on_release(run.drop_views)
            handle.release(held)

    def _leave(self, run: StagedRun, results: list[Any], reason: str) -> None:
        run.leave(reason)
        self._mark(results, _to_build_again(run, results), reason)
        warn_only(f"Nothing was published of {_names(run)}: {reason}")

    def _mark(self, results: list[Any], unpublished: Set[str], reason: str, **more: Any) -> None:
        manifest: Any = self.host.get_macro_resolver()
        nodes = (getattr(manifest, "nodes", None) or {}).values()
        mark_unpublished(results, nodes, unpublished, reason, **more)

    def _publish_all(self, run: StagedRun, results: list[Any]) -> DbtRuntimeError | None:
        """Publish tables by one commit, then make views; returns what went wrong."""
        transactions = [table.transaction for table in run.tables]
        unfinished = None
        try:
            for transaction in transactions:
                resume(transaction)
            self.kernel().commit_together(transactions)
        except Exception as error:  # noqa: BLE001 - what is raised here ends dbt's command without its results
            unfinished = error
            if "committed" not in {transaction.state for transaction in transactions}:
                return self._not_published(run, results, error)
        except BaseException:  # Ctrl-C: what is claimed is released once the signs of life end
            run.leave("its run was interrupted while it published")
            raise
        versions = {one.name: one.made.version for one in transactions if one.made is not None}
        published = ", ".join(f"{name} version {version}" for name, version in versions.items())
        if published:
            logger.info(f"Published together: {published}")
        tables = {table.unique_id: versions[table.name] for table in run.tables}
        mark_published(results, tables, {view.unique_id for view in run.views})
        statements = [(view, staged_names.published_text(view.statement)) for view in run.views]
        staged_names.clear()
        self._follow(run, lambda table: [table.refresh])
        failure = self._make_views(statements, results, run)
        self._follow(
            run, lambda table: table.finish
        )  # compactions may take minutes, and views wait for no one
        return failure if unfinished is None else _unfinished(unfinished, failure)

    def _not_published(self, run: StagedRun, results: list[Any], error: Exception) -> DbtRuntimeError:
        in_doubt = [table.transaction for table in run.tables if table.transaction.state == "in doubt"]
        found = _text_of(error)
        if in_doubt:
            ids = ", ".join(f"{transaction.txn} of {transaction.name}" for transaction in in_doubt)
            reason = f"the metastore went silent, so that it is in doubt whether it is published: {found}"
            self._mark(results, _to_build_again(run, results), reason, status="error")
            return as_dbt_error(
                CommitInDoubt(
                    expected=f"the metastore to say whether {_names(run)} are published",
                    found=f"no answer ({found})",
                    action="Run `dbt retry` once the metastore answers: it publishes what is not published, and adds "
                    f"no row twice. lakemerge_history says whether the commit stands ({ids}).",
                )
            )
        run.leave(found)
        self._mark(results, _to_build_again(run, results), found)
        return as_dbt_error(
            NotPublished(
                expected=f"to publish {_names(run)} together",
                found=f"{type(error).__name__}: {found}",
                action="Nothing was published. Run again, or `dbt retry`: it builds them on what is there now.",
            )
        )

    def _follow(
        self, run: StagedRun, actions: Callable[[StagedTable], Iterable[Callable[[], object]]]
    ) -> None:
        """Do what follows on a publication; a later run does what fails here."""
        for table in run.tables:
            for action in actions(table):
                try:
                    with self.guarded(f"finish {table.name}"):
                        action()
                except DbtRuntimeError as error:
                    warn_only(f"{table.name} is published; a later run does the work that follows: {error}")
                    if isinstance(error.__cause__, JavaDied):
                        return  # nor can anything else be done

    def _make_views(
        self, statements: list[tuple[StagedView, str]], results: list[Any], run: StagedRun
    ) -> DbtRuntimeError | None:
        """Make the views, in the order in which they were built; returns what went wrong."""
        failed: dict[str, str] = {}
        for view, statement in statements:
            try:
                self.host.connections.execute(statement)
            except DbtRuntimeError as error:
                failed[view.unique_id] = f"{view.name}: {error.msg}"
        if not failed:
            return None
        published = run.unique_ids - failed.keys()
        self._mark(results, failed.keys(), "the view could not be made", published=published)
        return as_dbt_error(
            ViewNotMade(
                expected="the views of this run to be made, when its tables were published",
                found="; ".join(failed.values()),
                action="The tables are published. Correct the views, and run again, or `dbt retry`.",
            )
        )

    # -- looking at what was staged --------------------------------------------------------------

    @available.parse_list
    def staged_of(
        self, relation: LakemergeRelation, location_root: str | None = None
    ) -> list[dict[str, Any]]:
        """The versions of a table that were staged and not published, the newest first.

        Args:
            location_root: the model's, for a table that is not there.
        """
        layout = self._layout_of(relation, location_root)
        return [
            {
                "version": one.manifest.version,
                "operation": one.manifest.operation,
                "staged_at": one.manifest.committed_at,
                "node": one.manifest.writer.get("node", ""),
                "partitions": len(one.manifest.touched),
                "files": sum(
                    one.manifest.partitions[name].files
                    for name in one.manifest.written
                    if name in one.manifest.partitions
                ),
                "metrics": dict(one.manifest.metrics),
                "txn": one.manifest.txn,
                "because": one.left or ("its run is at work" if one.alive else "its run has died"),
            }
            for one in staged_versions(self.kernel(), relation.table_name, layout)
        ]

    @available.parse(lambda *args, **kwargs: "")
    def staged_rows(self, relation: LakemergeRelation, location_root: str | None = None) -> str:
        """A view of the rows that a table would have if what was staged last had been published.

        Raises:
            DbtRuntimeError: TableNotFound: nothing is staged of it.
        """
        layout = self._layout_of(relation, location_root)
        found = staged_versions(self.kernel(), relation.table_name, layout)
        if not found:
            raise TableNotFound(
                expected=f"a version of {relation.table_name} that was staged and not published",
                found="none",
                action="It was published, built again or vacuumed; lakemerge_staged lists what there is.",
            )
        spark = self.handle.spark
        row = find_row(self.kernel().metastore, relation.table_name)
        spelling = spelling_of(row) if row else {}
        rows = define_rows(spark, relation.table_name, layout, found[0].manifest, spelling)
        self.handle.on_release(rows.drop)
        staged_names.show(rows.name)
        return rows.name

    def _layout_of(self, relation: LakemergeRelation, location_root: str | None) -> Layout:
        kernel, name = self.kernel(), relation.table_name
        row = find_row(kernel.metastore, name)
        state = state_of(row) if row is not None else None
        if state is not None:
            return state.layout
        root = f"{location_root.rstrip('/')}/{name.name}" if location_root else kernel.default_root(name)
        return Layout(kernel.files.qualify(root))


def publishes_after_tests(model: Mapping[str, Any]) -> bool:
    """Whether a node's config lets it be published after tests. Raises InvalidConfig for an unknown value."""
    problems: list[str] = []
    reader = OptionReader(model["config"], problems)
    chosen = reader.choice("publish", "at_once", "after_tests")
    reader.check_names()
    reader.require_sound()
    return chosen == "after_tests"


def _to_build_again(run: StagedRun, results: Iterable[Any]) -> Set[str]:
    """The nodes to build again after a run that published nothing.

    They include those that had nothing to write, because on other rows they may have something.
    """
    waiting = {result.node.unique_id for result in results if waits_for_tests(result.node)}
    return run.unique_ids | waiting


def _names(run: StagedRun) -> str:
    return ", ".join(str(node.name) for node in (*run.tables, *run.views))


def _text_of(error: Exception) -> str:
    return f"{error.expected}, and {error.found}" if isinstance(error, LakemergeError) else str(error)


def _unfinished(error: Exception, failure: DbtRuntimeError | None) -> DbtRuntimeError:
    """The error to report for a publication that stands but is not finished, with what went wrong after it."""
    if not isinstance(error, CommitUnfinished):
        error = CommitUnfinished(
            expected="to finish the commit of what was staged, which is decided and stands",
            found=f"{type(error).__name__}: {_text_of(error)}",
            action="Do not rerun: the next commit, or lakemerge_recover, finishes it.",
        )
    shown = as_dbt_error(error)
    return shown if failure is None else DbtRuntimeError(f"{shown.msg}\n{failure.msg}")


def _refused(expected: str, found: str) -> DbtRuntimeError:
    return as_dbt_error(
        InvalidConfig(
            expected=f"{expected}, to publish it after tests",
            found=found,
            action=f"{_AT_ONCE}; for a change between table and view that is needed for one run only.",
        )
    )
