"""The adapter's methods for models that consume partitions or changes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from dbt.adapters.base import available
from dbt.adapters.lakemerge.capability import Capability
from dbt.adapters.lakemerge.dbt_errors import config_errors
from dbt.adapters.lakemerge.dbt_macros import DbtMacros
from dbt.adapters.lakemerge.methods.turns import ConsumedTurns
from dbt.adapters.lakemerge.relation import LakemergeRelation
from dbt_common.exceptions import CompilationError

from lakemerge.consumer import Consumer, WorkingSet
from lakemerge.engine.consume.consume_options import ConsumeConfig
from lakemerge.engine.consume.consumption import Consumption, NodeConsumption, Request
from lakemerge.engine.sql_text import quote
from lakemerge.engine.strategies import INCREMENTAL
from lakemerge.engine.versions.changes import Versions
from lakemerge.engine.versions.choice import Choice
from lakemerge.errors import InvalidConfig
from lakemerge.kernel import TableName

# Commands that render a model without running it.
_RENDERING = ("compile", "generate", "docs", "list", "parse")
# Arguments of a consumer's last run, which operations need in order to see the same partitions.
_SAVED_OPTIONS = {False: ("where", "on_rewrite"), True: ("from_version",)}


class ConsumingMethods(Capability):
    """``adapter.consumers``; see the macros in ``consumer``."""

    @available.parse_none
    def consume(
        self,
        context: Mapping[str, Any],
        relation: LakemergeRelation,
        model: Mapping[str, Any],
        arguments: Mapping[str, Any],
        command: str,
        changes: bool = False,
    ) -> str:
        """Ask for partitions of a source, or for its changes; the materialization takes them when the model runs.

        Args:
            context: dbt's, of the model.
            arguments: those of the macro ``consume``, or of ``consume_changes``.

        Returns:
            The view from which the model's query reads them.
        """
        what = "consume_changes" if changes else "consume"
        kind = model["config"].get("materialized")
        if model.get("resource_type") != "model" or kind != "incremental":
            advice = (
                "Let an incremental model consume its table" if kind == "ingest" else "Change `materialized`"
            )
            raise CompilationError(
                f"Expected {what}() in an incremental model, because progress is committed with its rows; "
                f"found {kind} {model.get('unique_id')}. {advice}."
            )
        source = relation.table_name
        with config_errors():
            config = ConsumeConfig.of(arguments, str(model["name"]), changes=changes)
        # the length tells a_b.c from a.b_c
        view = quote(f"lakemerge_{what}_{len(source.schema)}_{source.schema}_{source.name}")
        request = Request(view, source, config, DbtMacros(context))
        if command not in _RENDERING:
            self._ask(request, model, command, is_empty=relation.limit is not None)
        return view

    def _ask(self, request: Request, model: Mapping[str, Any], command: str, *, is_empty: bool) -> None:
        source, spark = request.source, self.handle.spark
        if is_empty:  # the columns of changes, of which nothing counts as processed
            here, ports = Choice(), self.handle.application.ports
            versions = Versions.chosen(spark, ports, request.macros, source, here, here)
            versions.unchanged().createOrReplaceTempView(request.view)
            return
        requests = self.handle.notes(NodeConsumption).requests
        others = [one for one in requests if one.source == source]
        if others and others != [request]:
            raise CompilationError(
                f"Expected one consume() or consume_changes() of {source} in {model['name']}; found two that differ. "
                "Write it once, in a common table expression."
            )
        if not others:
            requests.append(request)
        if command == "show":
            output = TableName(str(model["schema"]), str(model["alias"]))
            shown = Consumption(spark, self.kernel(model), output).preview(request)
            shown.createOrReplaceTempView(request.view)

    @available.parse_none
    def turns(
        self,
        relation: LakemergeRelation,
        model: Mapping[str, Any],
        strategy: str,
        rebuild: bool,
        exists: bool,
    ) -> ConsumedTurns:
        """The turns of a run: one for each commit that the consumed partitions take; one where none are consumed.

        Args:
            rebuild: the output is rebuilt: take everything.
            exists: whether the output is there; a first build has one turn, because its query
                may differ from later ones.
        """
        handle = self.handle
        node = handle.notes(NodeConsumption)
        if not node.requests:
            return ConsumedTurns(handle)
        able = [name for name, one in INCREMENTAL.items() if one.in_one_commit]
        if strategy not in able:
            raise InvalidConfig(
                expected=f"consume() and consume_changes() with incremental_strategy {', '.join(able)}",
                found=strategy,
                action="Choose another strategy: this one does not make a single commit of its rows.",
            )
        consumption = Consumption(handle.spark, self.kernel(model), relation.table_name)
        node.taken = handle.processing = consumption
        handle.on_release(lambda: consumption.release(handle.last_error))
        run = consumption.run(node.requests, rebuild=rebuild, once=not exists)
        return ConsumedTurns(handle, run, lambda: self.guarded(f"consume for {relation.render()}"))

    # -- operations ----------------------------------------------------------------------------

    @available.parse_list
    def partitions(self, relation: LakemergeRelation) -> list[dict[str, Any]]:
        """The working set of a table's consumers, brought up to date."""
        return [
            dataclasses.asdict(row) for consumer in self._consumers(relation) for row in consumer.refresh()
        ]

    @available.parse_list
    def put_back(
        self, relation: LakemergeRelation, consumer: str | None, partitions: Sequence[str] | None
    ) -> list[str]:
        """Make discarded partitions available again; returns their names."""
        return [
            name for one in self._consumers(relation, consumer) for name in one.put_back(partitions or None)
        ]

    @available.parse_none
    def reset(
        self, relation: LakemergeRelation, source: LakemergeRelation, consumer: str, version: int | None
    ) -> None:
        """Make a consumer start over, after a version of the source or with everything that it holds."""
        for one in self._consumers(relation, consumer, source.table_name):
            one.reset(version)

    @available.parse_none
    def drop(self, relation: LakemergeRelation, source: LakemergeRelation, consumer: str) -> None:
        """Forget a consumer."""
        for one in self._consumers(relation, consumer, source.table_name):
            one.drop()

    def _consumers(
        self, relation: LakemergeRelation, name: str | None = None, source: TableName | None = None
    ) -> list[Consumer]:
        """A table's consumers of that name and source.

        Raises:
            InvalidConfig: there is none.
        """
        kernel, output = self.kernel(), relation.table_name
        known = WorkingSet(kernel, output).consumers()
        found = [key for key in known if name in (None, key[1]) and (source is None or str(source) == key[0])]
        if not found:
            raise InvalidConfig(
                expected=f"a consumer named {name} that writes to {output}"
                if name
                else f"a consumer that writes to {output}",
                found=", ".join(f"{consumer} of {table}" for table, consumer in known) or "none",
                action="Correct the name. A consumer exists from its first run on.",
            )
        consumption = Consumption(self.handle.spark, kernel, output)
        return [
            consumption.consumer(
                TableName.parse(key[0], ""),
                _config_of(known[key], key[1]),
            )
            for key in found
        ]


def _config_of(started: Mapping[str, Any], name: str) -> ConsumeConfig:
    """The arguments of a consumer's last run, as far as its working set keeps them."""
    changes = bool(started.get("changes"))
    given = {option: started.get(option) for option in _SAVED_OPTIONS[changes]}
    return ConsumeConfig.of(given, name, changes=changes)
