"""Other people's packages: what is copied, what is counted, what is shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from dbt.clients.jinja import get_rendered

from packages.__main__ import HUB, releases
from packages.outcomes import Outcome, Results, Verdict, outcomes, without_report
from packages.page import Run, page, unexplained
from packages.project import PackageNotFound, Sources, merge, prepare
from packages.registry import CASES, MACROS, Case


def written(folder: Path, **files: Any) -> Path:
    """A project in a folder, with these files besides."""
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_yml", ".yml").replace("_sql", ".sql")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return folder


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    """A package with tests, which needs a second one by its name and a third one beside its tests."""
    clones = tmp_path / "clones"
    tests = written(
        clones / "dbt-dates" / "integration_tests",
        dbt_project_yml={"name": "dates_tests", "profile": "ci", "vars": {"zone": "UTC", "depth": 1}},
        packages_yml={"packages": [{"local": "../"}, {"local": "beside"}]},
        models__today_sql="select '{{ target.type }}' as type",
    )
    written(tests / "beside", dbt_project_yml={"name": "beside"})
    written(
        clones / "dbt-dates",
        dbt_project_yml={"name": "dates"},
        packages_yml={"packages": [{"package": "someone/utils", "version": "1.0.0"}]},
        macros__today_sql="{% macro today() %}{{ target.type }}{% endmacro %}",
    )
    written(clones / "utils-1.0", dbt_project_yml={"name": "utils"})
    return Sources.below(clones)


def test_tests_are_copied_with_all_packages_that_they_need(tmp_path: Path, sources: Sources) -> None:
    work = tmp_path / "work"
    tests = sources.of("dates") / "integration_tests"
    assert prepare(work, tests, sources, {"vars": {"depth": 9}}) == "ci"
    assert {path.name for path in (work / "dbt_packages").iterdir()} == {"dates", "utils", "beside"}
    assert yaml.safe_load((work / "dbt_project.yml").read_text())["vars"] == {"zone": "UTC", "depth": 9}
    # neither are its tests part of the package, nor is the hub asked for anything
    assert list(work.rglob("packages.yml")) == [work / "packages.yml"]
    listed = yaml.safe_load((work / "packages.yml").read_text())["packages"]
    assert {item["local"] for item in listed} == {
        f"dbt_packages/{one}" for one in ("dates", "utils", "beside")
    }
    assert not (work / "dbt_packages" / "dates" / "integration_tests").exists()


def test_the_type_is_another_one_in_the_tests_alone(tmp_path: Path, sources: Sources) -> None:
    work = tmp_path / "work"
    prepare(work, sources.of("dates") / "integration_tests", sources, {}, "spark")
    expression = (work / "models" / "today.sql").read_text().split("'", 1)[1].removesuffix("' as type")
    context = {"target": {"type": "lakemerge"}}
    assert get_rendered(expression, context) == "spark"
    # as in `enabled: "{{ target.type in ['spark'] }}"`, which must not be a text
    for types, is_one in (("['spark']", True), ("['redshift']", False)):
        asked = expression.replace("}}", f"in {types} }}}}")
        assert get_rendered(asked, context, native=True) is is_one
    package = work / "dbt_packages" / "dates" / "macros" / "today.sql"
    assert "target.type" in package.read_text()


def test_what_was_there_before_goes(tmp_path: Path, sources: Sources) -> None:
    work = written(tmp_path / "work", models__old_sql="select 1")
    prepare(work, sources.of("dates") / "integration_tests", sources, {})
    assert not (work / "models" / "old.sql").exists()


def test_a_package_that_is_missing_is_named(tmp_path: Path, sources: Sources) -> None:
    without = Sources({name: path for name, path in sources.folders.items() if name != "utils"})
    with pytest.raises(PackageNotFound, match="the package utils among the sources; found dates"):
        prepare(tmp_path / "work", without.of("dates") / "integration_tests", without, {})


def test_settings_are_added_at_every_depth() -> None:
    assert merge({"a": {"b": 1, "c": 2}, "d": 3}, {"a": {"c": 4}, "d": {"e": 5}}) == {
        "a": {"b": 1, "c": 4},
        "d": {"e": 5},
    }


def report(folder: Path, *results: tuple[str, str, str | None]) -> Path:
    path = folder / "run_results.json"
    items = [{"unique_id": node, "status": status, "message": said} for node, status, said in results]
    path.write_text(json.dumps({"results": items}))
    return path


def test_nodes_are_counted_by_what_became_of_them(tmp_path: Path) -> None:
    path = report(
        tmp_path,
        ("model.shop.orders", "success", "OK"),
        ("test.shop.not_null_orders_id.1a2b", "pass", None),
        ("test.shop.unique_orders_id.3c4d", "warn", "Got 2 results, configured to warn if != 0"),
        ("test.shop.few_orders.5e6f", "fail", "Got 1 result, configured to fail if != 0"),
        ("model.shop.days", "error", "Runtime Error in model days (models/days.sql)\n  no such function"),
        ("model.shop.weeks", "skipped", None),
    )
    found = outcomes(2, path)
    assert [item.verdict for item in found] == [
        Verdict.RIGHT,
        Verdict.RIGHT,
        Verdict.WARNED,
        Verdict.WRONG,
        Verdict.WRONG,
        Verdict.SKIPPED,
    ]
    assert found[4] == Outcome(2, "model days", "error", "no such function")
    assert found[1].node == "test not_null_orders_id"


def test_a_command_without_a_node_is_wrong() -> None:
    output = "Running with dbt\n\nCompilation Error\n  'target.database' is undefined\n"
    found = without_report(1, output)
    assert found.verdict is Verdict.WRONG
    assert found.message == "Compilation Error 'target.database' is undefined"
    assert without_report(1, "").message == "no output"


def test_a_run_replaces_its_case_and_what_other_versions_gave(tmp_path: Path) -> None:
    results = Results(tmp_path / "results.json")
    right, wrong = Outcome(1, "model a", "success"), Outcome(1, "model a", "error", "no")
    results.add({"dbt-core": "1"}, "one", [wrong])
    results.add({"dbt-core": "1"}, "two", [wrong])
    results.add({"dbt-core": "1"}, "one", [right])
    assert results.of("one") == [right]
    assert results.of("two") == [wrong]
    results.add({"dbt-core": "2"}, "one", [right])
    assert results.of("two") is None


def test_the_page_has_figures_of_all_and_causes_of_what_is_wrong() -> None:
    name, case = next((name, case) for name, case in CASES.items() if case.causes)
    part, why = next(iter(case.causes.items()))
    found = [
        Outcome(1, "model good", "success"),
        Outcome(1, f"model {part}", "error", "a < b"),
        Outcome(1, "test other", "fail", "a < b"),
    ]
    text = page(
        [Run("ours", "dbt-core 1", {name: found}), Run("theirs", "dbt-core 1", {})], {case.package: "1.0"}
    )
    assert f"| {name} | 1.0 | 3 | 1 right, 2 wrong | not run |" in text
    assert f"- {name}, `model {part}`: {why}" in text
    assert f"- {name}, `test other`: a &lt; b" in text
    assert text.endswith("### Not right on theirs\n\nNothing.\n")


def test_only_what_is_wrong_for_no_known_cause_is_unexplained() -> None:
    case = Case("a", causes={"known": "why"})
    known, new = Outcome(1, "model known", "error"), Outcome(1, "model new", "error")
    assert unexplained(case, [known, new, Outcome(1, "test new", "warn")]) == [new]


def test_each_package_has_a_release_that_can_be_fetched() -> None:
    listed = yaml.safe_load((HUB / "packages.yml").read_text())["packages"]
    names = [item["package"].rpartition("/")[2] for item in listed]
    assert {case.package for case in CASES.values()} <= set(names)
    assert releases(Sources({names[0]: HUB})) == {names[0]: str(listed[0]["version"])}


def test_all_macros_are_tried() -> None:
    assert {file for case in CASES.values() for file in case.macros} == {
        path.name for path in MACROS.iterdir()
    }


def test_the_guide_shows_the_macros_that_were_run() -> None:
    guide = (HUB.parents[2] / "docs" / "guides" / "packages.md").read_text()
    for path in MACROS.iterdir():
        assert path.read_text() in guide, f"{path.name} is another one in the guide"
