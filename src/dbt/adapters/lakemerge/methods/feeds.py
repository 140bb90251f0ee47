"""The adapter's methods about a model's rows before they are published: the feed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from dbt.adapters.base import available
from dbt.adapters.lakemerge.capability import Capability
from dbt.adapters.lakemerge.catalog.seeds import frame_of_agate
from dbt_common.exceptions import DbtRuntimeError

from lakemerge.engine.publish.feeds import FEED, give_feed

if TYPE_CHECKING:
    import agate


class FeedMethods(Capability):
    """``adapter.feeds``; see the materializations for its use."""

    @available.parse_none
    def open_python(self, model: dict[str, Any], compiled_code: str) -> None:
        """Let each attempt to publish run a Python model.

        On an existing table it runs after the transaction has begun: what it reads is no older than the transaction.
        """
        self.handle.compute_feed = partial(self._compute_python_feed, model, compiled_code)

    @available.parse_none
    def compute(self) -> None:
        """Make ``lakemerge_feed`` readable for a statement that runs without a transaction."""
        if self.handle.compute_feed is not None:
            self.handle.compute_feed()

    def _compute_python_feed(self, model: dict[str, Any], compiled_code: str) -> None:
        """Run a Python model and make the frame that it returns readable as ``lakemerge_feed``."""
        self.host.submit_python_job(model, compiled_code)
        frame = self.handle.python_result
        if frame is None:
            raise DbtRuntimeError("Expected a Python model to have run; found none. Report this.")
        give_feed(self.handle, frame)

    @available.parse_none
    def open_seed(self, table: agate.Table, column_types: Mapping[str, str]) -> None:
        """Make a seed's rows readable as ``lakemerge_feed``."""
        frame_of_agate(self.handle.spark, table, column_types).createOrReplaceTempView(FEED)
