"""The adapter's methods for versions of tables: read as they were."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from dbt.adapters.base import available
from dbt.adapters.lakemerge.capability import Capability
from dbt.adapters.lakemerge.dbt_errors import config_errors
from dbt.adapters.lakemerge.dbt_macros import DbtMacros
from dbt.adapters.lakemerge.relation import LakemergeRelation

from lakemerge.engine.operations.arguments import check_flags, limit_of
from lakemerge.engine.operations.history import history_frame
from lakemerge.engine.options.write import WriteConfig
from lakemerge.engine.sql_text import quote
from lakemerge.engine.versions.changes import Versions
from lakemerge.engine.versions.choice import Choice
from lakemerge.engine.versions.published import table_for_view
from lakemerge.engine.versions.restore import Restore
from lakemerge.engine.versions.tags import tag, untag
from lakemerge.engine.versions.version_rows import as_shown
from lakemerge.errors import InvalidConfig
from lakemerge.kernel import TableName

# Commands that render a node without running it.
_RENDERING = ("compile", "generate", "docs", "list", "parse")
# What is read when the session that rendered it is gone.
_READ_LATER = ("view", "materialized_view", "ephemeral")


@dataclasses.dataclass(frozen=True)
class Between:
    """Two versions of a table, the key by which rows are told apart, and dbt's context of whoever compares them."""

    context: Mapping[str, Any]
    relation: LakemergeRelation
    first: Choice
    last: Choice
    key: str | Sequence[str]


class VersionMethods(Capability):
    """``adapter.versions``; see the macros in ``versions``."""

    @available.parse(lambda relation, *args, **kwargs: relation)
    def version_of(
        self,
        relation: LakemergeRelation,
        node: Mapping[str, Any],
        version: Any,
        timestamp: Any,
        tag: Any,
        group: Any,
        command: str,
    ) -> LakemergeRelation:
        """A temporary view of a version; limits and samples of the relation apply to it.

        Args:
            node: what it is rendered for.
            version, timestamp, tag, group: as of :meth:`Choice.of`.

        Raises:
            CompilationError: the arguments are wrong, or the node is read later.
            DbtRuntimeError: there is no such version.
        """
        with config_errors():
            choice = Choice.of(version, timestamp, tag, group)
            _require_read_now(node, "version_of()")
        said = (
            choice.tag
            or choice.group
            or (choice.version if choice.time is None else f"{choice.time:%Y%m%dT%H%M%S%f}")
        )
        name = f"lakemerge_version_{_marked(relation)}_{said}"
        if command not in _RENDERING:
            ports = self.handle.application.ports
            rows = choice.rows(self.handle.spark, ports, relation.table_name)
            frame = as_shown(ports.metastore, relation.table_name, rows.frame())
            frame.createOrReplaceTempView(quote(name))
        return _temporary(relation, name)

    @available.parse(lambda relation, *args, **kwargs: relation)
    def shown_by_view(
        self,
        relation: LakemergeRelation,
        node: Mapping[str, Any],
        chosen: Sequence[Any],
        reads_staged: bool,
        command: str,
    ) -> LakemergeRelation:
        """The table of a version for a model that is a view; see :func:`table_for_view`.

        Args:
            node: the model.
            chosen: version, timestamp, tag and group, as of :meth:`Choice.of`; none of them for the newest version.
            reads_staged: whether this run has staged what the model depends on, so that the newest version is to come.

        Raises:
            CompilationError: the arguments are wrong, or the version is to come.
            DbtRuntimeError: there is no such version, or it cannot have a table.
        """
        with config_errors():
            choice = Choice.of(*chosen, newest=True)
            if reads_staged and choice == Choice():
                raise InvalidConfig(
                    expected=f"{relation} to be published before a view shows its newest version",
                    found="that this run publishes it after its tests (publish: after_tests)",
                    action="Build the view by a run of its own, after this one.",
                )
        if command in _RENDERING:
            return relation
        view = TableName(node["schema"], node["alias"].lower())
        table = table_for_view(self.kernel(), relation.table_name, view, choice)
        found: LakemergeRelation = relation.incorporate(
            path={"schema": table.schema, "identifier": table.name}
        )
        return found

    @available.parse(lambda relation, *args, **kwargs: relation)
    def history_of(
        self, relation: LakemergeRelation, node: Mapping[str, Any], command: str
    ) -> LakemergeRelation:
        """A temporary view of a table's commits.

        Raises:
            CompilationError: the node is read later.
            DbtRuntimeError: there is no such table.
        """
        with config_errors():
            _require_read_now(node, "history_of()")
        view = f"lakemerge_history_{_marked(relation)}"
        if command not in _RENDERING:
            frame = history_frame(self.handle.spark, self.handle.application.ports, relation.table_name)
            frame.createOrReplaceTempView(quote(view))
        return _temporary(relation, view)

    @available.parse_none
    def between(
        self,
        context: Mapping[str, Any],
        relation: LakemergeRelation,
        start: Sequence[Any],
        end: Sequence[Any],
        key: Any,
    ) -> Between:
        """Two versions to be compared, for :meth:`changes` and :meth:`diff`.

        Args:
            context: dbt's, of the node or the operation.
            start, end: version, timestamp and tag of each, of which one is given; see :class:`Versions`.

        Raises:
            CompilationError: the arguments are wrong.
        """
        with config_errors():
            first = Choice.of(*start, prefix="from_", newest=True)
            last = Choice.of(*end, prefix="to_", newest=True)
        return Between(context, relation, first, last, key or ())

    @available.parse_none
    def changes(
        self, between: Between, node: Mapping[str, Any], net: bool, preimages: bool, command: str
    ) -> LakemergeRelation:
        """A temporary view of what changed between versions; limits of the relation apply to it.

        Args:
            net, preimages: as of :meth:`Versions.changes`.

        Raises:
            CompilationError: the arguments are wrong, or the node is read later.
            DbtRuntimeError: there is no such version.
        """
        with config_errors():
            _require_read_now(node, "changes()")
            check_flags({"net": net, "preimages": preimages})
        said = _hash(between.first, between.last, between.key, net, preimages)
        view = f"lakemerge_changes_{_marked(between.relation)}_{said}"
        if command not in _RENDERING:
            frame = self._versions(between).changes(net=net, preimages=preimages)
            frame.createOrReplaceTempView(quote(view))
        return _temporary(between.relation, view)

    def _versions(self, between: Between, *, staged: bool = False) -> Versions:
        name, macros = between.relation.table_name, DbtMacros(between.context)
        ports, (first, last) = self.handle.application.ports, (between.first, between.last)
        return Versions.chosen(
            self.handle.spark, ports, macros, name, first, last, between.key, staged=staged
        )

    # -- operations ----------------------------------------------------------------------------

    @available.parse_none
    def tag(
        self,
        relation: LakemergeRelation,
        label: Any,
        version: Any,
        timestamp: Any,
        retain: Any,
        as_table: Any,
    ) -> dict[str, Any]:
        """Let a name stand for a version; see :func:`tag`."""
        with config_errors():
            choice = Choice.of(version, timestamp, newest=True)
        return dataclasses.asdict(tag(self.kernel(), relation.table_name, label, choice, retain, as_table))

    @available.parse_none
    def untag(self, relation: LakemergeRelation, label: str) -> None:
        """Take the name of a version away."""
        untag(self.kernel(), relation.table_name, label)

    @available.parse_none
    def diff(self, between: Between, samples: Any, staged: Any = False) -> dict[str, Any]:
        """What differs between two versions; see :class:`Difference`.

        Args:
            staged: compare with what was staged and is not published; then no last version is given.
        """
        with config_errors():
            most = limit_of(samples) if samples else 0
            check_flags({"staged": staged})
            if staged and between.last != Choice():
                raise InvalidConfig(
                    expected="staged: true, or a last version",
                    found="both",
                    action="Leave one of them out.",
                )
        return dataclasses.asdict(self._versions(between, staged=staged).difference(most or 0))

    @available.parse_none
    def restore(
        self,
        context: Mapping[str, Any],
        relation: LakemergeRelation,
        version: Any,
        timestamp: Any,
        tag: Any,
        partitions: Any,
        take_again: bool,
        dry_run: bool,
    ) -> dict[str, Any]:
        """Bring a table back to a version, or only count what would change; see :class:`Restore`."""
        with config_errors():
            choice = Choice.of(version, timestamp, tag)
        kernel = self.kernel(dry_run=dry_run)
        publisher = self.publisher(relation.table_name, WriteConfig(), kernel=kernel)
        work = Restore(
            publisher, DbtMacros(context), choice, partitions=str(partitions or ""), take_again=take_again
        )
        return dataclasses.asdict(work.foresee() if dry_run else work.bring_back())


def _require_read_now(node: Mapping[str, Any], what: str) -> None:
    kind = (node.get("config") or {}).get("materialized")
    if node.get("resource_type") == "model" and kind in _READ_LATER:
        raise InvalidConfig(
            expected=f"{what} in a node that is read when it runs, such as a table or a test",
            found=f"it in a model with materialized: {kind}",
            action="Make it a table; or tag the version with a table of its own (as_table), which views can read.",
        )


def _marked(relation: LakemergeRelation) -> str:
    """A table's name as a part of another; the length tells a_b.c from a.b_c."""
    return f"{len(relation.table_name.schema)}_{relation.schema}_{relation.identifier}"


def _hash(*arguments: Any) -> str:
    return hashlib.sha256(repr(arguments).encode()).hexdigest()[:12]


def _temporary(relation: LakemergeRelation, view: str) -> LakemergeRelation:
    """A view of the session in the place of a relation, with its limits."""
    found: LakemergeRelation = relation.incorporate(
        path={"database": None, "schema": None, "identifier": view}, type=LakemergeRelation.View
    )
    return found
