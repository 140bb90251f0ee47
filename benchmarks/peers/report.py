"""The figures of a run as a page and a plot."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from peers.workloads import Workload

_HEAD = """# Merges beside other programs

`make bench-peers` has measured this: medians of the counted merges, each program in a process of its own on the same
Spark. The programs of a table took turns, merge by merge, on one machine. CPU seconds are those of Python and Java
together. *Floor* is what any copy-on-write must do: read the touched partitions and write them as they are, and write
the latest change of each key. For lakemerge the seconds are those of the whole `dbt run` in a process that is already
there; in brackets those of the model alone. *Read after* is a read of all columns of all rows; the floor's is that of
the table as it was first written. Every table was compared with what DuckDB makes of the feeds.

Iceberg, Delta and INSERT OVERWRITE match a key within the partition that its change names, as lakemerge does with
`partition_moves: false`. By default, lakemerge also finds a key in another partition, and moves its row.
"""


@dataclass
class Result:
    """What one program took for one workload.

    Attributes:
        measured_on: the day.
        rounds: the figures of each merge: seconds ``cpu``, ``compiling`` and ``wall``; ``jobs`` of Spark; new
            ``files``; ``calls`` from Python to Java; for dbt also ``node``, CPU seconds of the model.
        read: seconds ``cpu`` and ``wall`` of a read of the whole table afterwards.
        differences: rows that differ from DuckDB's; ``None`` where they were not compared.
    """

    workload: Workload
    engine: str
    measured_on: str
    rounds: list[dict[str, float]] = field(default_factory=list)
    read: dict[str, float] = field(default_factory=dict)
    differences: int | None = None

    def median(self, figure: str) -> float | None:
        """Of the rounds that count; ``None`` for a figure that the program does not have."""
        counted = self.rounds[self.workload.first - 1 :]
        return statistics.median(r[figure] for r in counted) if figure in counted[0] else None

    @property
    def files(self) -> str:
        """New files of each counted merge, or of the first and the last of many."""
        counted = [f"{r['files']:.0f}" for r in self.rounds[self.workload.first - 1 :]]
        return ", ".join(counted if len(counted) <= 4 else [counted[0], "…", counted[-1]])


def keep(results: Sequence[Result], folder: Path) -> None:
    """Write the results of one workload into a file of its name, in the place of older ones."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        {name: value for name, value in asdict(result).items() if name != "workload"} for result in results
    ]
    (folder / f"{results[0].workload.name}.json").write_text(json.dumps(rows, indent=1))


def kept(folder: Path, workloads: Sequence[Workload]) -> list[Result]:
    """The kept results of all of these workloads that have some."""
    files = [(workload, folder / f"{workload.name}.json") for workload in workloads]
    return [
        Result(workload, **row)
        for workload, file in files
        if file.exists()
        for row in json.loads(file.read_text())
    ]


def page(results: Sequence[Result], plot: str = "") -> str:
    """The figures in Markdown, a table for each workload."""
    parts = [_HEAD]
    if plot:
        parts.append(f"![CPU seconds of a merge by workload and program]({plot})\n")
    for workload in dict.fromkeys(result.workload for result in results):
        parts.append(_table(workload, [result for result in results if result.workload == workload]))
    return "\n".join(parts)


def _table(workload: Workload, results: Sequence[Result]) -> str:
    changed = "1 key" if workload.changed == 1 else f"{workload.changed:,} keys"
    where = ", all in one partition" if workload.one_partition else ""
    lines = [
        f"## {workload.name[0].upper()}{workload.name[1:]}",
        "",
        f"{changed} of {workload.rows:,} rows in {workload.partitions:,} partitions{where}; merges {workload.first} to "
        f"{workload.rounds} count. Measured on {results[0].measured_on}.",
        "",
        "| | CPU s | to floor | compiling | wall s | Spark jobs | calls to Java | new files | read after, CPU s "
        "| to floor |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    floor = next((result for result in results if result.engine == "floor"), None)
    for result in results:
        cpu, node = result.median("cpu"), result.median("node")
        assert cpu is not None
        cells = [
            result.engine,
            f"{cpu:.2f}" + (f" ({node:.2f})" if node is not None else ""),
            _ratio(cpu, floor.median("cpu") if floor else None),
            f"{result.median('compiling'):.2f}",
            f"{result.median('wall'):.2f}",
            f"{result.median('jobs'):.0f}",
            f"{result.median('calls'):,.0f}",
            result.files,
            f"{result.read['cpu']:.2f}",
            _ratio(result.read["cpu"], floor.read["cpu"] if floor else None),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _ratio(figure: float, floor: float | None) -> str:
    return f"{figure / floor:.2f}" if floor else ""


def plot(results: Sequence[Result], path: Path) -> None:
    """Bars of CPU seconds, a panel for each workload."""
    import matplotlib

    matplotlib.use("svg")
    # so that the same figures give the same file
    matplotlib.rcParams["svg.hashsalt"] = "lakemerge"
    from matplotlib import pyplot

    names = list(dict.fromkeys(result.workload.name for result in results))
    figure, panels = pyplot.subplots(len(names), 1, figsize=(8, 2.2 * len(names)), squeeze=False)
    for panel, name in zip(panels[:, 0], names, strict=True):
        shown = [result for result in results if result.workload.name == name][::-1]
        seconds = [result.median("cpu") or 0 for result in shown]
        colors = ["#00897b" if result.engine.startswith("lakemerge") else "#b0bec5" for result in shown]
        bars = panel.barh([result.engine for result in shown], seconds, color=colors)
        panel.bar_label(bars, [f"{value:.1f}" for value in seconds], padding=3)
        panel.set_title(name, loc="left", fontsize=10)
        panel.spines[["top", "right"]].set_visible(False)
    panels[-1, 0].set_xlabel("CPU seconds of a merge")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
