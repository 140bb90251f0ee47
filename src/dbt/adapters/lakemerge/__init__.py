"""The dbt adapter ``lakemerge``: plain Hive tables with merge, snapshots and atomic publishes."""

from dbt.adapters.base import AdapterPlugin
from dbt.adapters.lakemerge.column import LakemergeColumn
from dbt.adapters.lakemerge.connections import LakemergeConnectionManager
from dbt.adapters.lakemerge.credentials import LakemergeCredentials
from dbt.adapters.lakemerge.dbt_names import names_of_dbt
from dbt.adapters.lakemerge.impl import LakemergeAdapter
from dbt.adapters.lakemerge.relation import LakemergeRelation
from dbt.include import lakemerge

from lakemerge.engine.options.names import let_pass

__all__ = [
    "LakemergeAdapter",
    "LakemergeColumn",
    "LakemergeConnectionManager",
    "LakemergeCredentials",
    "LakemergeRelation",
    "Plugin",
]

Plugin = AdapterPlugin(
    adapter=LakemergeAdapter,  # type: ignore[arg-type]
    credentials=LakemergeCredentials,
    include_path=lakemerge.PACKAGE_PATH,
    dependencies=["spark"],
)

# what dbt reads from a config is no slip of ours
let_pass(names_of_dbt)
