"""The part of the example that looks after its tables: compaction, its log, and what vacuum would free."""

from __future__ import annotations

from dbt_project import DbtProject, progress

FOLDER = "path:models/maintenance"
LOG = (
    "select reason, action, state, count(*) as compactions, sum(files_before) as files_before, "
    "sum(files_after) as files_after, sum(bytes_before) as bytes_before, sum(bytes_after) as bytes_after "
    "from {{ ref('compactions') }} group by reason, action, state order by reason, action, state"
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
    project.print_query("What all compactions have done, by their reason", LOG)
    print("\nWhat vacuum would free if nobody read old versions\n")
    arguments = {"select": "*", "retention_hours": 0.0001, "allow_short_retention": True, "retain_last": 2}
    for line in project.run_operation("lakemerge_vacuum", arguments):
        if "dry run" in line:
            print(line)
