"""The linter finds what is bad in a model and in a macro, also where the macro's branch is not the first."""

from __future__ import annotations

from pathlib import Path

import pytest

from lint_sql import Finding, MacroLinter, lint_models

GOOD_MACRO = """\
{% macro latest(feed, keys, sequence, descending=true) %}
select
    {{ keys | join(', ') }},
    max({{ sequence }}) as latest_sequence
from {{ feed }}
group by {{ keys | join(', ') }}
{% if descending %}
order by latest_sequence desc
{% endif %}
{% endmacro %}
"""
DOCUMENTATION = """\
macros:
  - name: latest
    description: One row per key.
    arguments:
      - {name: feed, type: relation, description: the feed}
      - {name: keys, type: "list[string]", description: the key}
      - {name: sequence, type: string, description: what orders the changes}
      - {name: descending, type: boolean, description: newest first}
"""


@pytest.fixture
def macros(tmp_path: Path) -> Path:
    folder = tmp_path / "macros"
    folder.mkdir()
    (folder / "_macros.yml").write_text(DOCUMENTATION)
    return folder


def lint_macro(folder: Path, text: str) -> list[Finding]:
    (folder / "latest.sql").write_text(text)
    linter = MacroLinter(folder)
    findings = list(linter.findings())
    assert linter.linted or findings
    return findings


def test_a_good_macro_passes(macros: Path) -> None:
    assert lint_macro(macros, GOOD_MACRO) == []


@pytest.mark.parametrize(
    ("good", "bad", "code"),
    [
        ("select\n", "SELECT\n", "CP01"),
        ("max(", "MAX(", "CP03"),
        (") as latest_sequence", ") latest_sequence", "AL02"),
        ("from {{ feed }}\n", "from {{ feed }} feed\n", "AL01"),
        ("group by", "group", "PRS"),
        ("order by latest_sequence desc", "order by latest_sequence DESC", "CP01"),
        ("{{ feed }}", "{{ feeds }}", "RENDER"),
        ("{{ feed }}", "{{ quoted(feed) }}", "RENDER"),
        ("{{ keys | join(', ') }},", "{{ keys }},", "AL03"),
    ],
)
def test_a_bad_macro_is_found(macros: Path, good: str, bad: str, code: str) -> None:
    assert good in GOOD_MACRO
    findings = lint_macro(macros, GOOD_MACRO.replace(good, bad, 1))
    assert code in {finding.code for finding in findings}
    assert all(finding.where == "macros/latest.sql (latest)" for finding in findings)


def test_a_branch_that_only_a_second_sample_takes_is_linted(macros: Path) -> None:
    bad = GOOD_MACRO.replace("{% endif %}", "{% else %}\nORDER by latest_sequence\n{% endif %}")
    findings = lint_macro(macros, bad)
    assert {finding.code for finding in findings} == {"CP01"}
    assert "descending=False" in findings[0].message


def test_parts_of_statements_are_linted(macros: Path) -> None:
    head = "{% macro latest(feed, keys, sequence, descending) %}"
    condition = "target.a <=> source.a and target.b <=> source.b"
    assert lint_macro(macros, f"{head}{condition}{{% endmacro %}}") == []
    findings = lint_macro(macros, f"{head}{condition.replace('and', 'AND')}{{% endmacro %}}")
    assert "CP01" in {finding.code for finding in findings}


def test_statements_that_a_macro_runs_are_linted(macros: Path) -> None:
    body = "{% call statement('main') %}SELECT 1 as one{% endcall %}{% do run_query('select 1 two') %}"
    findings = lint_macro(
        macros, f"{{% macro latest(feed, keys, sequence, descending) %}}{body}{{% endmacro %}}"
    )
    assert {"CP01", "AL02"} <= {finding.code for finding in findings}


def test_macros_that_give_no_sql_are_named(macros: Path) -> None:
    (macros / "latest.sql").write_text(
        "{% macro latest(feed, keys, sequence, descending) %}"
        "{% do exceptions.raise_compiler_error('never') %}{% endmacro %}"
    )
    linter = MacroLinter(macros)
    assert list(linter.findings()) == []
    assert linter.without_sql == {"latest": "refuses: never"}


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("select id\nfrom {{ ref('products') }}\n", None),
        ("select ID\nfrom {{ ref('products') }}\n", "CP02"),
        ("select id from {{ ref('products') }} p\n", "AL01"),
        ("select id\n    , name\nfrom {{ source('a', 'b') }}\n", "LT04"),
        ("select id\nfrom {{ ref('products') }}\n{% if is_incremental() %}\nwhere\n{% endif %}\n", "PRS"),
        (
            "select id\nfrom {{ ref('products') }}\n{% if not is_incremental() %}\nWHERE true\n{% endif %}\n",
            "CP01",
        ),
        ("select id\nfrom {{ ref('products' }}\n", "TMP"),
    ],
)
def test_models(tmp_path: Path, sql: str, code: str | None) -> None:
    repository = Path(__file__).parents[3]
    (tmp_path / ".sqlfluff").write_text((repository / ".sqlfluff").read_text())
    model = tmp_path / "models" / "staging" / "model.sql"
    model.parent.mkdir(parents=True)
    model.write_text(sql)
    findings = list(lint_models(tmp_path))
    assert (code in {finding.code for finding in findings}) if code else findings == []
    assert all(finding.where.startswith("models/staging/model.sql:") for finding in findings)


def test_a_project_without_models_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="found none"):
        list(lint_models(tmp_path))
