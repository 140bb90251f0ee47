"""What a table of many columns costs: each capability at several widths, a few rows and many.

For each width a feed of that many columns, of nine types in turn, is ingested as delimited text, as JSON and by a
pattern; merged by whole rows with and without a sequence, and by partial updates; merged into a history; snapshotted by
`check` of all columns and by `timestamp`. Each is run twice: the first run makes the table, the second has changed rows
(of an ingest, one record in ten is bad), and is the one that is told. What a column costs must not grow with the width.

CPU seconds are those of Python and Java together, in one process, the narrow tables first. What does not work is told
as `fails`, with its error on the way.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from measure import Measured
from project import BenchProject

WIDTHS = (100, 400, 800, 2000)
# A column's type, the SQL of its text, and of its value, of the number ``{}``.
KINDS = {
    "string": "concat('value ', {})",
    "int": "cast({} as int)",
    "decimal(12,2)": "cast({} / 100 as decimal(12,2))",
    "bigint": "cast({} as bigint)",
    "double": "cast({} / 7 as double)",
    "boolean": "{} % 2 = 0",
    "date": "date_add(date'2020-01-01', cast({} % 999 as int))",
    "timestamp": "timestamp_seconds(1700000000 + {})",
    "varchar(40)": "concat('text ', {})",
}
INGESTS = ("delimited", "json", "regex")
OTHERS = {
    "merge": "materialized='incremental', unique_key='id', sequence_by='changed_at', apply_as_deletes=\"op = 'D'\"",
    "partial": "materialized='incremental', unique_key='id', sequence_by='changed_at', ignore_null_updates=true",
    "unordered": "materialized='incremental', unique_key='id'",
    "history": "materialized='incremental', unique_key='id', sequence_by='changed_at', apply_as_deletes=\"op = 'D'\", "
    "stored_as_scd_type=2",
}
SNAPSHOTS = {
    "check": "strategy='check', check_cols='all', hard_deletes='invalidate'",
    "timestamp": "strategy='timestamp', updated_at='changed_at', hard_deletes='new_record'",
}
CASES = (*INGESTS, *OTHERS, *SNAPSHOTS)
PROJECT = "name: bench\nprofile: bench\nmodel-paths: [models]\n"


def columns_of(width: int) -> dict[str, str]:
    """The columns of a table beside the key, with their types."""
    kinds = list(KINDS)
    return {f"c{number}": kinds[number % len(kinds)] for number in range(width - 1)}


def row_sql(width: int, seed: str) -> str:
    """The columns of a row as SQL over ``id``."""
    values = (
        f"{KINDS[kind].format(f'pmod(id * 31 + {number} + ({seed}), 100000)')} as {name}"
        for number, (name, kind) in enumerate(columns_of(width).items())
    )
    return f"id, {', '.join(values)}"


def record_sql(kind: str, width: int, bad: bool) -> str:
    """The text of a record as SQL over the columns of a row; of bad ones every tenth has an integer that is none."""
    names = ["id", *columns_of(width)]
    if kind == "json":
        text = f"to_json(struct({', '.join(names)}))"
        return f"if(id % 10 = 7, replace({text}, '\"c1\":', '\"c1\":0.5'), {text})" if bad else text
    texts = [f"cast({name} as string)" for name in names]
    if bad:
        texts[2] = f"if(id % 10 = 7, 'x', {texts[2]})"
    return f"concat_ws('{'|' if kind == 'regex' else ','}', {', '.join(texts)})"


def models(widths: Sequence[int]) -> dict[str, str]:
    """The files of the project, by path."""
    files = {}
    for width in widths:
        feed = f"select * from bench.feed_{width}"
        pattern = "[|]".join(["([^|]*)"] * width)
        options = dict.fromkeys(INGESTS, "") | {"regex": f", pattern='{pattern}'"}
        for kind in INGESTS:
            landing = f"landing=var('landing') ~ '/{kind}_{width}'"
            files[f"models/{kind}_{width}.sql"] = (
                f"{{{{ config(materialized='ingest', format='{kind}', settle_seconds=0, {landing}{options[kind]}) }}}}"
            )
            declared = "".join(
                f"      - {{name: {name}, data_type: '{type_}'}}\n"
                for name, type_ in {"id": "bigint", **columns_of(width)}.items()
            )
            files[f"models/{kind}_{width}.yml"] = (
                f"models:\n  - name: {kind}_{width}\n    columns:\n{declared}"
            )
        for name, config in OTHERS.items():
            config += ", except_column_list=['op', 'changed_at']"
            files[f"models/{name}_{width}.sql"] = f"{{{{ config({config}) }}}}\n{feed}"
        for name, config in SNAPSHOTS.items():
            files[f"snapshots/{name}_{width}.sql"] = (
                f"{{% snapshot {name}_{width} %}}\n{{{{ config(unique_key='id', {config}) }}}}\n"
                f"select * except (op) from bench.feed_{width}\n{{% endsnapshot %}}"
            )
    return files


class Bench(BenchProject):
    """A dbt project with a model of each capability for each width."""

    def __init__(self, root: Path, widths: Sequence[int], memory: str) -> None:
        project = PROJECT + f"vars: {{landing: {root}/landing}}\n"
        super().__init__(root, project, models(widths), settings=f"spark.driver.memory: {memory}")

    def feed(self, width: int, rows: int, number: int) -> None:
        """Write the rows of a run: in the second, half of them are changed."""
        changed = f"if(id % 2 = 0, {number}, 0)"
        source = f"select {row_sql(width, changed)} from range({rows})"
        order = f"timestamp_seconds({number} + 1) as changed_at, if(id % 7 = {number}, 'D', 'U') as op"
        self.write_table(f"feed_{width}", f"select *, {order} from ({source})", files=2)

    def land(self, kind: str, width: int, number: int) -> None:
        """Write the rows of a run as files."""
        folder = self.root / "landing" / f"{kind}_{width}"
        text = record_sql(kind, width, bad=number > 0)
        frame = self.spark.sql(f"select {text} as value from bench.feed_{width}")
        frame.write.mode("append").text(str(folder))

    def run(self, case: str, width: int, number: int) -> str:
        """One run of a case, measured in :attr:`seconds`; returns dbt's message."""
        if case in INGESTS:
            self.land(case, width, number)
        command = "snapshot" if case in SNAPSHOTS else "run"
        return str(self.dbt(command, "--select", f"{case}_{width}")[0].adapter_response["_message"])


def measure(bench: Bench, case: str, width: int, rows: int) -> str:
    """CPU seconds of the second run, or what went wrong."""
    seconds = ""
    for number in range(2):
        bench.feed(width, rows, number)
        bench.seconds = Measured()
        try:
            message = bench.run(case, width, number)
        except SystemExit as error:
            print(f"{case} of {width} columns, {rows} rows: {str(error)[:2000]}", file=sys.stderr)
            return "fails"
        print(
            f"{case} of {width} columns, {rows} rows: {message} {bench.seconds}", file=sys.stderr, flush=True
        )
        seconds = f"{bench.seconds.cpu[0]:.1f}"
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, nargs="+", default=[10, 10_000], help="rows of a feed (10 10000)")
    parser.add_argument("--widths", type=int, nargs="+", default=WIDTHS, help=f"columns {WIDTHS}")
    parser.add_argument("--cases", nargs="+", default=CASES, choices=CASES, help="what to run (all)")
    parser.add_argument("--memory", default="6g", help="of Java; Spark's own choice is 1g (6g)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lakemerge-bench-") as folder:
        bench = Bench(Path(folder), arguments.widths, arguments.memory)
        bench.start()
        for rows in arguments.rows:
            print(f"| {rows:,} rows | {' | '.join(f'{width:,} columns' for width in arguments.widths)} |")
            print("|---" * (1 + len(arguments.widths)) + "|")
            for case in arguments.cases:
                told = [measure(bench, case, width, rows) for width in arguments.widths]
                print(f"| {case} | {' | '.join(told)} |", flush=True)


if __name__ == "__main__":
    main()
