"""A process that swaps all partitions of a table again and again, until it is killed.

Usage: python -m engines.swapper CONF TABLE PROTOTYPES, where PROTOTYPES is a directory of contents,
each with the table's partitions as folders of real files; a dot is printed for each commit.
"""

from __future__ import annotations

import itertools
import json
import shutil
import sys
from pathlib import Path
from urllib.parse import urlparse

from lakemerge.kernel import Jvm, Kernel, TableName, ports_of


def publish(kernel: Kernel, name: TableName, content: Path) -> None:
    """One commit that replaces every partition."""
    txn = kernel.begin(name, "replace")
    txn.replace_all()
    shutil.copytree(content, urlparse(txn.stage_directory).path)
    txn.add_staged()
    txn.commit()


def main(conf: str, table: str, prototypes: str) -> None:
    kernel = Kernel(ports_of(Jvm.launch(json.loads(conf))))
    for content in itertools.cycle(sorted(Path(prototypes).iterdir())):
        publish(kernel, TableName("default", table), content)
        print(".", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
