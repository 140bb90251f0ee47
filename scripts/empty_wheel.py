"""Write a wheel with nothing in it but its metadata, in the place of a package that is required and not used.

Usage: python scripts/empty_wheel.py <name> <version> <folder>. It runs on any Python, without packages.
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path


def make_empty_wheel(name: str, version: str, folder: Path) -> None:
    module = name.replace("-", "_")
    metadata = {
        "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        "WHEEL": "Wheel-Version: 1.0\nGenerator: lakemerge\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / f"{module}-{version}-py3-none-any.whl", "w") as wheel:
        files = {f"{module}-{version}.dist-info/{file}": text for file, text in metadata.items()}
        record = f"{module}-{version}.dist-info/RECORD"
        for file, text in {**files, record: "".join(f"{file},,\n" for file in [*files, record])}.items():
            wheel.writestr(file, text)


if __name__ == "__main__":
    make_empty_wheel(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
