"""Whether a tag, the version of the package and the changelog name one release: `check_release.py v0.1.0`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
VERSION = ROOT / "src" / "dbt" / "adapters" / "lakemerge" / "__version__.py"
CHANGELOG = ROOT / "CHANGELOG.md"


def problems(tag: str, version_file: str, changelog: str) -> list[str]:
    """What does not fit.

    Args:
        tag: the name of the tag, with its `v`.
        version_file: the text of the module that has the version.
        changelog: the text of the changelog; a released version's heading ends with a date.
    """
    found = re.search(r'^version = "([^"]+)"', version_file, re.MULTILINE)
    version = found[1] if found else "none"
    result = []
    if tag != f"v{version}":
        result.append(f"Expected the tag v{version}, as the package's version is {version}; found {tag}.")
    if not re.search(rf"^## \[{re.escape(version)}\] \S \d{{4}}-\d{{2}}-\d{{2}}$", changelog, re.MULTILINE):
        result.append(
            f"Expected a dated section [{version}] in CHANGELOG.md; found none. Date it, and tag again."
        )
    return result


if __name__ == "__main__":
    wrong = problems(sys.argv[1], VERSION.read_text(), CHANGELOG.read_text())
    sys.exit("\n".join(wrong) or 0)
