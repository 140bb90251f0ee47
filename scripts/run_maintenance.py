"""The part of the example that looks after its tables: compaction, its log, and what vacuum would free."""

from __future__ import annotations

from dbt_project import DbtProject, progress

FOLDER = "path:models/maintenance"
LOG = (
    "select table_name, action, reason, state, files_before, files_after, bytes_before, bytes_after "
    "from {{ ref('compactions') }} order by id"
)
DONE = (
    "select table_name, action, state, files_before, files_after, bytes_before, bytes_after "
    "from {{ ref('maintenance') }} where state <> 'needed' order by table_name, action"
)


def run(project: DbtProject) -> None:
    """Build the models that compact all tables and show the log of it, and say what vacuum would free."""
    progress("[maintenance] dbt build --select path:models/maintenance, dbt run-operation lakemerge_vacuum")
    project.build("--select", FOLDER)
    project.print_query("What the model maintenance has done", DONE)
    project.print_query("What compactions have done", LOG)
    print("\nWhat vacuum would free if nobody read old versions\n")
    arguments = {"select": "*", "retention_hours": 0, "retain_last": 2}
    for line in project.run_operation("lakemerge_vacuum", arguments):
        if "dry run" in line:
            print(line)
