"""The adapter's methods for all that commits: options, what publishes, and operations on versions."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

from dbt.adapters.base import available
from dbt.adapters.lakemerge.connections import as_dbt_error
from dbt.adapters.lakemerge.options.reader import config_errors
from dbt.adapters.lakemerge.options.write import WriteConfig
from dbt.adapters.lakemerge.publish.constraints import enforced_checks
from dbt.adapters.lakemerge.publish.feeds import FeedMethods
from dbt.adapters.lakemerge.publish.kernel_log import show_kernel_log
from dbt.adapters.lakemerge.publish.node_transaction import Publish
from dbt.adapters.lakemerge.publish.publisher import Publisher
from dbt.adapters.lakemerge.relation import LakemergeRelation
from dbt_common.invocation import get_invocation_id

from lakemerge import errors
from lakemerge.errors import LakemergeError
from lakemerge.kernel import Kernel, Settings, Transaction, find_row, view_over_base

C = TypeVar("C", bound=WriteConfig)


class PublishingMethods(FeedMethods):
    """A mixin of the adapter; see the materializations for its use.

    Attributes:
        retries: the invocations that the running command repeats; see :func:`retried_runs`.
    """

    retries: tuple[str, ...] = ()

    # -- configuration -------------------------------------------------------------------------

    @available.parse_none
    def clone_config(self, model: Mapping[str, Any], source: LakemergeRelation) -> WriteConfig:
        """The options about writing of a clone: files as the model wants them, partitions as its source has them."""
        names = ("file_format", "location_root", "tblproperties", "target_file_size", "max_attempts")
        with config_errors():
            config = WriteConfig.of({name: model["config"].get(name) for name in names})
        with self._guarded():
            name = source.table_name
            table = find_row(self.handle.application.metastore, name)
        return dataclasses.replace(
            config, partition_by=tuple(column.name for column in table.partition_columns) if table else ()
        )

    @available.parse(lambda *args, **kwargs: False)
    def hides_base(self, relation: LakemergeRelation) -> bool:
        """Whether a view of another program's has the place of that of a table that is merged on read.

        It is no view that a run replaces unasked, for the rows are still there, in the base.
        """
        with self._guarded():
            return view_over_base(self.handle.application.metastore, relation.table_name) is not None

    # -- publishing ----------------------------------------------------------------------------

    def publisher(
        self,
        relation: LakemergeRelation,
        config: C,
        model: Mapping[str, Any] | None = None,
        *,
        kernel: Kernel | None = None,
        commit: Publish = Transaction.commit,
    ) -> Publisher[C]:
        """What brings rows into a table.

        Args:
            model: the node whose rows they are; ``None`` for an operation.
            kernel: what commits to other tables as well; ``None`` for one of its own.
            commit: takes what is complete; see :class:`NodeTransaction`.
        """
        return Publisher(
            self.handle,
            kernel or self._kernel(model or {}, config),
            relation.table_name,
            config,
            guard=self.connections.exception_handler,
            constraints=enforced_checks(model or {}),
            records_rules=model is not None,
            commit=commit,
            retries=self.retries,
        )

    def _guarded(self) -> Any:
        return self.connections.exception_handler("commit")

    def _kernel(self, model: Mapping[str, Any], config: WriteConfig | None) -> Kernel:
        show_kernel_log()
        writer = {
            "agent": "dbt-lakemerge",
            "node": str(model.get("unique_id", "")),
            "invocation_id": str(get_invocation_id()),
        }
        settings = Settings(writer=writer)
        if config:
            policy: Any = config.on_foreign_write
            settings = dataclasses.replace(settings, on_foreign_write=policy)
        return Kernel(self.handle.application.ports, settings)

    @available.parse_none
    def raise_typed(self, kind: str, expected: str, found: str, action: str) -> None:
        """Raise one of ``lakemerge.errors`` by its name, as dbt shows errors."""
        error: type[LakemergeError] = getattr(errors, kind)
        raise as_dbt_error(error(expected=expected, found=found, action=action))
