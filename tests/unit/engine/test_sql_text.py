"""Names and strings as Spark SQL reads them."""

from __future__ import annotations

from lakemerge.engine.sql_text import literal, quote


def test_strings_keep_every_character() -> None:
    assert literal("it's \\ \n") == "'it\\'s \\\\ \\u000A'"


def test_names_may_have_backticks() -> None:
    assert quote("a`b c") == "`a``b c`"
