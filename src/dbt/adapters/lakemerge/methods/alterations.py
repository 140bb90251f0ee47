"""The adapter's methods that change the columns of a table, empty it, or replace a view, outside its model's run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dbt.adapters.base import available
from dbt.adapters.lakemerge import staged_names
from dbt.adapters.lakemerge.capability import Capability
from dbt.adapters.lakemerge.column import LakemergeColumn
from dbt.adapters.lakemerge.dbt_macros import DbtMacros
from dbt.adapters.lakemerge.relation import LakemergeRelation

from lakemerge.engine.merge_on_read.write_modes import WriteModes
from lakemerge.engine.operations.alterations import Alter, Alteration
from lakemerge.engine.options.write import WriteConfig
from lakemerge.kernel import is_overlay_view


class AlterationMethods(Capability):
    """``adapter.alterations``; see dbt's macros `alter_column_type`, `alter_relation_add_remove_columns`,
    `truncate_relation` and `create_view_as`."""

    @available.parse_none
    def alter(
        self,
        context: Mapping[str, Any],
        relation: LakemergeRelation,
        add: Sequence[LakemergeColumn] = (),
        remove: Sequence[LakemergeColumn] = (),
        retype: Mapping[str, str] | None = None,
    ) -> None:
        """Change a table's columns by one commit.

        Args:
            relation: may be one that `--empty` limits: only its name counts.
            retype: new types by column name.

        Raises:
            DbtRuntimeError: there is no such table, lakemerge does not write it, or a change is not possible.
        """
        alteration = Alteration(
            {column.name: column.data_type for column in add},
            [column.name for column in remove],
            retype or {},
        )
        self._require_published(relation, "change the columns of")
        publisher, macros = self.publisher(relation.table_name, WriteConfig()), DbtMacros(context)
        driver, modes = Alter(publisher, macros, alteration), WriteModes(publisher, macros)
        modes.prepare(driver)
        driver.run()
        modes.settle(driver)

    @available.parse_none
    def empty(self, context: Mapping[str, Any], relation: LakemergeRelation) -> None:
        """Publish a version of a table without rows; the versions before it stay.

        A view over a base is removed first, and the model's next run makes it again: no delta can delete all rows.
        """
        self._require_published(relation, "empty")
        publisher, macros = self.publisher(relation.table_name, WriteConfig()), DbtMacros(context)
        if publisher.has_view:
            WriteModes(publisher, macros).remove_overlay()
        transaction = publisher.kernel.begin(publisher.name, "truncate")
        self.handle.on_release(transaction.abort)
        transaction.replace_all()
        transaction.add_staged()
        transaction.commit()
        publisher.refresh()

    @available.parse(lambda *args, **kwargs: False)
    def is_plain_view(self, relation: LakemergeRelation) -> bool:
        """Whether a view is there whose query alone has to change: one without comments, which only its making sets."""
        row = self.handle.application.metastore.get_table(relation.table_name)
        if row is None or row.kind != "VIRTUAL_VIEW" or is_overlay_view(row):
            return False
        return not row.parameters.get("comment") and not any(column.comment for column in row.columns)

    def _require_published(self, relation: LakemergeRelation, doing: str) -> None:
        staged_names.require_published(relation.table_name, doing)
