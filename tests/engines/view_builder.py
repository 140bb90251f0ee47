"""A process that swaps all partitions of a table again and again and lets a view show each version, until it is killed.

Usage: python -m engines.view_builder CONF VIEW TABLE PROTOTYPES; a dot is printed for each version.
"""

from __future__ import annotations

import itertools
import json
import sys
from dataclasses import replace
from pathlib import Path

from engines.swapper import publish
from lakemerge.engine.versions.choice import Choice
from lakemerge.engine.versions.published import table_for_view
from lakemerge.kernel import Jvm, Kernel, TableName, ports_of
from lakemerge.kernel.ports.metastore import HiveTable, Storage


def show(kernel: Kernel, view: TableName, name: TableName) -> None:
    """Let a view show the newest version, as a build by dbt does."""
    table = table_for_view(kernel, name, view, Choice())
    text = f"select * from {table}"
    known = kernel.metastore.get_table(view)
    if known is None:
        row = kernel.metastore.get_table(name)
        assert row is not None
        columns = Storage(columns=(*row.columns, *row.partition_columns))
        kernel.metastore.create_table(HiveTable(view, "VIRTUAL_VIEW", columns, view_text=text))
    else:
        kernel.metastore.alter_table(view, replace(known, view_text=text))


def main(conf: str, view: str, table: str, prototypes: str) -> None:
    kernel = Kernel(ports_of(Jvm.launch(json.loads(conf))))
    name = TableName("default", table)
    for content in itertools.cycle(sorted(Path(prototypes).iterdir())):
        publish(kernel, name, content)
        show(kernel, TableName("default", view), name)
        print(".", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
