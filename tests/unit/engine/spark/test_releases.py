"""What releases of Spark do differently stands in one module."""

from __future__ import annotations

import importlib.metadata
import re
from pathlib import Path

import pytest

from lakemerge import java

SOURCES = Path(__file__).parents[4] / "src"
#: What only some of the supported releases have.
DIFFERENT = re.compile(
    r"\.(fromDDL|getCondition|getErrorClass|nullIntolerant|metadataColumn|cancelJobGroupAndFutureJobs|productElementName)\("
    r"|pyspark\.sql\.classic|pyspark\.logger|scala\.jdk|is_valid_utf8|make_valid_utf8|\* except \("
)
MODULE = SOURCES / "lakemerge" / "engine" / "spark" / "releases.py"


def test_nothing_else_knows_what_differs() -> None:
    found = [
        f"{path.relative_to(SOURCES)}: {match[0]}"
        for path in sorted(SOURCES.rglob("*.py"))
        if path != MODULE
        for match in DIFFERENT.finditer(path.read_text(encoding="utf-8"))
    ]
    assert not found
    assert DIFFERENT.search(MODULE.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("spark", "versions"), [("3.5.0", range(11, 18)), ("4.0.0", range(17, 23)), ("4.3.0", range(17, 23))]
)
def test_java_is_what_the_installed_spark_runs_on(
    monkeypatch: pytest.MonkeyPatch, spark: str, versions: range
) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda _: spark)
    assert java.supported_versions() == versions
