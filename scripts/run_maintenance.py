"""The part of the example that looks after its tables: compaction, its log, and what vacuum would free."""

from __future__ import annotations

from dbt_project import DbtProject, progress

FOLDER = "path:models/maintenance"
LOG = (
    "select table_name, action, reason, state, files_before, files_after, bytes_before, bytes_after "
    "from {{ ref('compactions') }} order by id"
)


def run(project: DbtProject) -> None:
    """Compact all tables, build the model that shows what was done, and say what vacuum would free."""
    progress("[maintenance] dbt run-operation lakemerge_compact, lakemerge_vacuum")
    print("\nCompaction of all tables\n")
    for line in project.run_operation("lakemerge_compact", {"select": "*"}):
        print(line)
    project.build("--select", FOLDER)
    project.print_query("What compactions have done", LOG)
    print("\nWhat vacuum would free if nobody read old versions\n")
    arguments = {"select": "*", "retention_hours": 0, "retain_last": 2}
    for line in project.run_operation("lakemerge_vacuum", arguments):
        if "dry run" in line:
            print(line)
