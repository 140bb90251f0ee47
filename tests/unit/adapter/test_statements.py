from __future__ import annotations

import pytest
from dbt.adapters.lakemerge.statements import comment_of, split_statements


@pytest.mark.parametrize(
    "text",
    [
        "select 1",
        "select 1;",
        "select ';'",
        'select "a;b"',
        "select `a;b` from t",
        r"select 'it\'s; one'",
        r"select r'a\'; -- the raw string ends at its quote",
        "select 1 -- a; b",
        "select /* a; /* nested; */ b; */ 1",
        "begin select 1; select 2; end",
        "/* dbt */ BEGIN select 1; select 2; END;",
        "label: begin select 1; end",
        "",
    ],
)
def test_one_statement_comes_back_as_it_is(text: str) -> None:
    assert split_statements(text) == [text]


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("set a=1; select 2", ["set a=1", "select 2"]),
        ("set a=';' ;\n\nselect 2;\n-- done\n", ["set a=';'", "select 2"]),
        ("/* dbt */ set a=1; -- x;\nselect 2", ["/* dbt */ set a=1", "-- x;\nselect 2"]),
        ("set a=1;; ;select 2", ["set a=1", "select 2"]),
        ("select 'a''b;c'; select 2", ["select 'a''b;c'", "select 2"]),
        ("select $$a;b$$; select $x$;$x$", ["select $$a;b$$", "select $x$;$x$"]),
        ("set a=1; beginning", ["set a=1", "beginning"]),
    ],
)
def test_several_statements(text: str, statements: list[str]) -> None:
    assert split_statements(text) == statements


def test_the_comment_of_dbt_is_found_before_and_after_the_statement() -> None:
    assert comment_of('/* {"app": "dbt"} */\nselect 1') == '{"app": "dbt"}'
    assert comment_of("select 1\n/* last */;") == "last"
    assert comment_of("select 1") == ""
