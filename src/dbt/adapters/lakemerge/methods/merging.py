"""The adapter's methods for merges from a change feed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dbt.adapters.base import available
from dbt.adapters.lakemerge.capability import Capability
from dbt.adapters.lakemerge.relation import LakemergeRelation

from lakemerge.engine.merge.ledger import reset_ledger
from lakemerge.engine.merge.merge_options import names_no_key


class MergeMethods(Capability):
    """``adapter.merging``; see the macros in ``ledger``."""

    @available.parse(lambda *args, **kwargs: False)
    def names_no_key(self, model: Mapping[str, Any]) -> bool:
        """Whether a model that is to replace rows by their key names no key, nor any option that needs one."""
        return names_no_key(model["config"])

    @available.parse(lambda *args, **kwargs: 0)
    def reset_ledger(self, relation: LakemergeRelation, keep: bool = False) -> int:
        """Forget a table's ledger, or (``keep``) only what it is for; returns the version made, 0 for none."""
        name = relation.table_name
        return reset_ledger(self.kernel(), name, keep=keep)
