"""The adapter's methods about when a source changed, where no column of it tells."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

from dbt.adapters.base import BaseRelation
from dbt.adapters.contracts.connection import AdapterResponse
from dbt.adapters.lakemerge.publish.methods import PublishingMethods

from lakemerge.kernel import TableName, last_change

if TYPE_CHECKING:
    from dbt.adapters.base.impl import FreshnessResponse
    from dbt.adapters.contracts.macros import MacroResolverProtocol


class FreshnessMethods(PublishingMethods):
    """A mixin of the adapter.

    Sources are not looked at in a batch: what takes time is to list their files, which dbt's threads do side by side.
    """

    if TYPE_CHECKING:

        def _create_freshness_response(
            self, last_modified: datetime.datetime | None, snapshotted_at: datetime.datetime | None
        ) -> FreshnessResponse: ...

    def calculate_freshness_from_metadata(
        self, source: BaseRelation, macro_resolver: MacroResolverProtocol | None = None
    ) -> tuple[AdapterResponse | None, FreshnessResponse]:
        """When a source's rows changed last; see :func:`last_change`.

        Raises:
            DbtRuntimeError: there is no such table, or it is a view.
        """
        name = TableName(str(source.schema), str(source.identifier))
        with self.connections.exception_handler(f"freshness of {name}"):
            changed = last_change(self._kernel({}, None), name)
        return None, self._create_freshness_response(changed, datetime.datetime.now(datetime.timezone.utc))
