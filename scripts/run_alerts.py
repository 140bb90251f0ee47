"""The part of the example that consumes what is new: raw alerts become clean ones and invalid ones.

Each delivery is followed by a build of `models/alerts`. Its models read the files, and then the commits, that
no build before has read; a last build without a delivery finds nothing.
"""

from __future__ import annotations

from pathlib import Path

import generate_alerts as alerts
from dbt_project import DbtProject, print_table, progress

FOLDER = "path:models/alerts"
MODELS = ("raw_alerts", "alerts", "invalid_alerts")

BY_COUNTRY = """
select continent, country, count(*) as alerts from {{ ref('alerts') }} group by all order by all
"""
INVALID = "select file_name, line, schema_error from {{ ref('invalid_alerts') }} order by all"
CONSUMERS = """
select consumer, partition, state, version
from {{ ref('alerts').incorporate(path={'identifier': 'alerts__consumers'}) }}
order by version
"""


def run(project: DbtProject, landing: Path) -> None:
    """Build the alerts delivery by delivery, and print what came of it."""
    counts = []
    for name in (*alerts.DELIVERIES, ""):
        new = name and alerts.write(name, landing / "alerts")
        progress(f"[alerts] dbt build --select {FOLDER}: {name if new else 'no new file'}")
        answers = project.build("--select", FOLDER)
        inserted = [answers[model]["rows_affected"] for model in MODELS]
        counts.append([name if new else "(nothing new)", *map(str, inserted)])
    print("\nRows that each delivery added to the models in models/alerts\n")
    print_table(("file", *MODELS), counts)
    for title, sql in (
        ("Alerts by continent and country", BY_COUNTRY),
        ("Lines that are no alerts, and why", INVALID),
        (
            "What the consumer `alerts` has processed of raw_alerts: a partition for each of its commits",
            CONSUMERS,
        ),
    ):
        project.print_query(title, sql)
