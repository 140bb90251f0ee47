"""The part of the example that ingests files strictly: what breaks a rule goes to quarantine, and is replayed.

Each delivery is followed by a build of `models/shipments`. The last delivery has a field that the model does not
know, so that its records are rejected; then the model is told to drop such fields, and they are replayed.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import generate_shipments as shipments
from dbt_project import DbtProject, print_table, progress

FOLDER = "path:models/shipments"
COUNTS = ("inserted", "quarantined")
RELAXED = {"shipments_extra_fields": "drop"}

_QUARANTINE = "{{ ref('shipments').incorporate(path={'identifier': 'shipments__quarantine'}) }}"
REASONS = f"""
select regexp_extract(file, '[^/]+$', 0) as file, line, reason, coalesce(column_name, '') as column, reason_text
from {_QUARANTINE}
order by file, line
"""
LEFT = f"select reason, count(*) as records, max(replays) as replays from {_QUARANTINE} group by all order by all"
REPLAYED = (
    "select shipment_id, product_id, quantity, warehouse from {{ ref('shipments') }} where shipment_id > 1012"
)


def run(project: DbtProject, landing: Path) -> None:
    """Build the shipments delivery by delivery, replay the quarantine, and print what came of it."""
    counts = []
    for name in (*shipments.DELIVERIES, ""):
        new = name and shipments.write(name, landing / "shipments")
        progress(f"[shipments] dbt build --select {FOLDER}: {name if new else 'no new file'}")
        answer = project.build("--select", FOLDER)["shipments"]
        counts.append([name if new else "(nothing new)", *(str(answer.get(count, 0)) for count in COUNTS)])
    print("\nRecords that each file of shipments brought, and those that broke a rule\n")
    print_table(("file", *COUNTS), counts)
    project.print_query("In quarantine, and why", REASONS)
    replay = "dbt run-operation lakemerge_replay --args '{model_name: shipments}'"
    progress(f"[shipments] {replay} --vars '{{shipments_extra_fields: drop}}'")
    relaxed = replace(project, variables=RELAXED)
    print("\nReplayed, now that unknown fields are dropped\n")
    for line in relaxed.run_operation("lakemerge_replay", {"model_name": "shipments"}):
        print(line)
    project.print_query("The rows that this added", f"{REPLAYED} order by shipment_id")
    project.print_query("Still in quarantine", LEFT)
