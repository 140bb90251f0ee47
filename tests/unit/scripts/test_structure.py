"""Measures of the source, on a tree that is small enough to count by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

import structure

FILES = {
    "src/lakemerge/__init__.py": "",
    "src/lakemerge/errors.py": "",
    "src/lakemerge/kernel/__init__.py": "from lakemerge.kernel.commit.draft import Draft\n",
    "src/lakemerge/kernel/names.py": "import re\n\nfrom lakemerge import errors\n",
    "src/lakemerge/kernel/commit/__init__.py": "",
    "src/lakemerge/kernel/commit/draft.py": """
from lakemerge.kernel import names
from lakemerge.kernel.commit.claim import Claim

class Draft:
    version: int
    _kept: int

    @property
    def name(self): ...

    def commit(self):
        return names

    def _check(self): ...
""",
    "src/lakemerge/kernel/commit/claim.py": """
class Claim:
    def settle(self):
        from lakemerge.kernel.commit.draft import Draft
        return Draft
""",
    "src/dbt/adapters/lakemerge/impl.py": "from lakemerge.kernel import Draft\n",
    "macros/a.sql": """{# as other('x') does #}
{%- macro entry(txn) -%}
    {%- do txn.stage(adapter.quote('a')) -%}
    {%- set plan = adapter.merge_plan(txn) -%}{{ plan.keys }}
    {{ lakemerge_merge(txn) }} {{ quote_all() }} {{ quote_all() }} {{ date_trunc() }}
{%- endmacro -%}
""",
    "macros/b.sql": """{%- macro lakemerge_merge(txn) -%}
    {%- do txn.commit() -%}{%- do txn.stage(1) -%}{{ adapter.dispatch('other', 'dbt')() }}
{%- endmacro -%}
{% macro quote_all() %}{% endmacro %}
{% macro other() %}{{ my.other() }}{% endmacro %}
{% macro lakemerge__date_trunc() %}{% endmacro %}
{% materialization incremental, adapter='lakemerge' %}{{ entry(1) }}{% endmaterialization %}
{% test ordered(model) %}{% endtest %}
""",
}


@pytest.fixture
def figures(tmp_path: Path) -> dict[str, str]:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return structure.measures(tmp_path)


def test_modules_and_their_imports_are_counted(figures: dict[str, str]) -> None:
    # impl, kernel, the circle of draft and claim, names, errors
    assert figures["modules"] == "8"
    assert figures["folders of modules"] == "4"
    assert figures["most modules in one folder"] == "3"
    assert figures["imports among modules"] == "6"
    assert figures["floors of modules"] == "5"
    assert figures["circles of modules"] == "1"


def test_a_room_is_a_folder_or_a_module_beside_folders(figures: dict[str, str]) -> None:
    assert figures["`lakemerge`: rooms"] == "2"
    assert figures["`lakemerge`: imports among rooms"] == "1"
    assert figures["`lakemerge.kernel`: rooms"] == "2"
    assert figures["`lakemerge.kernel`: floors"] == "2"
    assert figures["`lakemerge.kernel`: circles"] == "0"


def test_what_is_longest_is_named(figures: dict[str, str]) -> None:
    assert figures["longest file"] == "15 `draft.py`"
    assert figures["longest class"] == "11 `Draft`"
    assert figures["longest function"] == "3 `settle`"
    assert figures["most public members"] == "3 `Draft`, 1 `Claim`"


def test_macros_and_their_calls_are_counted(figures: dict[str, str]) -> None:
    assert figures["macros"] == "7"
    assert figures["macros that override none of dbt's"] == "6"
    assert figures["of these, called from one place"] == "3", "entry, lakemerge_merge, other"
    assert figures["lines of a macro file, median"] == "7"
    assert figures["uses of `adapter` in macros"] == "3"
    assert figures["members of `adapter` that macros use"] == "3"
    assert figures["uses of `txn` in macros"] == "3"
    assert figures["members of `txn` that macros use"] == "2"
    assert figures["uses of a plan in macros"] == "1"
    assert figures["macros that `incremental` reaches"] == "5"
    assert figures["macros on its longest chain of calls"] == "4"


def test_trees_stand_beside_each_other() -> None:
    assert structure.table({"then": {"modules": "2"}, "now": {"modules": "1"}}) == (
        "|  | then | now |\n| --- | --- | --- |\n| modules | 2 | 1 |"
    )


def test_a_commit_is_measured_as_the_tree_is() -> None:
    committed = structure.measures_of_commit("HEAD")
    assert committed.keys() == structure.measures(structure.ROOT).keys()
    assert int(committed["macros"]) > 0
