"""Each typed error is documented, and the docs and the code say the same of trying again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from lakemerge.engine import ruled_table
from lakemerge.engine.publish import redo
from lakemerge.errors import LakemergeError
from lakemerge.kernel.ports import metastore
from lakemerge.kernel.protocol import versions

DOCS = (Path(__file__).parents[2] / "docs" / "guides" / "errors.md").read_text()
#: What the docs say of trying again, by error.
AGAIN = dict(re.findall(r"^\| `(\w+)` \| .*? \| \**(yes|no|after)\b", DOCS, re.MULTILINE))


def every(kind: type[LakemergeError]) -> Iterator[type[LakemergeError]]:
    for child in kind.__subclasses__():
        yield child
        yield from every(child)


#: Handled inside; reaches nobody.
INTERNAL = {versions.LostRace, redo.Restarted, redo.RowsLost, ruled_table.WithoutRules}
ERRORS = sorted(
    {kind for kind in every(LakemergeError) if kind.__module__.startswith("lakemerge.")} - INTERNAL, key=str
)


def test_the_metastores_errors_are_among_them() -> None:
    assert metastore.ReplyLost in ERRORS


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
def test_the_docs_say_of_it_whether_it_may_be_tried_again(kind: type[LakemergeError]) -> None:
    assert kind.__name__ in AGAIN, f"add {kind.__name__} to docs/guides/errors.md"
    if kind.retriable:
        assert AGAIN[kind.__name__] in ("yes", "after")
    else:
        assert AGAIN[kind.__name__] != "yes"


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
def test_sql_has_a_state_for_it(kind: type[LakemergeError]) -> None:
    assert re.fullmatch(r"[0-9A-Z]{5}", kind.sqlstate)
    # a serialization failure is what clients of SQL try again by themselves
    assert (kind.sqlstate == "40001") <= kind.retriable
