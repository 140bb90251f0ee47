"""What pytest reports becomes figures."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from conformance.__main__ import known_runs, minor, results
from conformance.official import Case, Kind
from conformance.outcomes import NOT_RUN, Outcome, Results, outcomes
from conformance.page import Run, page

SUITE = """
import pytest

class TestSeed:
    def test_passes(self): pass
    def test_fails(self): assert 1 == 2, "one is | two"
    def test_skips(self): pytest.skip("no such thing")
    @pytest.mark.parametrize("number", [1, 2])
    def test_fails_once(self, number): assert number == 1
    @pytest.fixture
    def closing(self):
        yield
        raise ValueError("not closed")
    def test_fails_at_its_end(self, closing): pass

class TestWhole:
    def test_one(self): pass
    def test_other(self): pass
"""


def case(name: str, runner: str, kind: Kind = Kind.AS_WRITTEN, reason: str = "") -> Case:
    return Case("seeds", name, kind, runner and f"folder/test_suite.py::{runner}", reason)


CASES = [
    case("Base.test_passes", "TestSeed::test_passes"),
    case("Base.test_fails", "TestSeed::test_fails"),
    case("Base.test_skips", "TestSeed::test_skips"),
    case("Base.test_fails_once", "TestSeed::test_fails_once"),
    case("Base.test_fails_at_its_end", "TestSeed::test_fails_at_its_end"),
    case("Whole.test_all", "TestWhole", Kind.REWRITTEN, "in our words"),
    case("Other.test_nothing", "TestOther::test_nothing"),
    case("Grants.test_grants", "", Kind.NOT_APPLICABLE, "nobody grants"),
]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[Outcome]:
    root = tmp_path_factory.mktemp("root")
    suite = root / "folder" / "test_suite.py"
    suite.parent.mkdir()
    suite.write_text(SUITE)
    report = root / "report.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={root}"]
    command += [f"--junitxml={report}", str(suite)]
    subprocess.run(command, cwd=root, capture_output=True, check=False, timeout=60)
    return outcomes(CASES, report)


def test_a_test_passes_if_all_its_runs_do(found: list[Outcome]) -> None:
    assert [item.case.name for item in found if item.passed] == ["Base.test_passes", "Whole.test_all"]
    failed = {item.case.name: item.failure for item in found if item.failure}
    assert failed.pop("Base.test_fails").startswith("AssertionError: one is | two")
    assert failed.pop("Base.test_fails_once") == "assert 2 == 1"
    assert "not closed" in failed.pop("Base.test_fails_at_its_end")
    assert failed == {"Other.test_nothing": NOT_RUN}
    (skipped,) = (item for item in found if item.skipped)
    assert (skipped.case.name, skipped.is_applicable) == ("Base.test_skips", False)


def test_the_page_counts_each_test_once_for_each_adapter(found: list[Outcome], tmp_path: Path) -> None:
    results = Results(tmp_path / "ours.json")
    results.add({"ours": "1.0"}, found)
    text = page(CASES, [Run("ours", "ours 1.0", results.of(CASES)), Run("theirs", "theirs 2.0", [])])
    assert "| suite | tests | rewritten | ours | theirs |" in text
    assert "| **all** | 8 | 1 | 2 / 4 / 2 | 0 / 0 / 0 |" in text
    assert "- `Base.test_fails`: AssertionError: one is \\| two" in text
    assert "## Failed with theirs\n\nNone." in text
    assert "- `Whole`: in our words" in text
    assert "- `Grants`: nobody grants" in text
    assert "- `Base.test_skips`: skips itself, no such thing" in text


def test_a_run_of_some_suites_replaces_theirs_alone(found: list[Outcome], tmp_path: Path) -> None:
    results = Results(tmp_path / "ours.json")
    results.add({"ours": "1.0"}, found)
    results.add({"ours": "1.0"}, [Outcome(CASES[1])])
    assert [item.passed for item in results.of(CASES)[:2]] == [True, True]
    results.add({"ours": "1.1"}, [Outcome(CASES[1])])
    assert [item.failure for item in results.of(CASES)[:2]] == [NOT_RUN, ""]


def test_each_minor_release_of_dbt_has_results_of_its_own(tmp_path: Path) -> None:
    for adapter, release, outcome in (
        ("lakemerge", "1.9.4", CASES[0]),
        ("lakemerge", "1.11.16", CASES[1]),
        ("lakemerge", "1.12.5", CASES[2]),
        ("lakemerge", "1.12.6", CASES[0]),
        ("spark", "1.11.16", CASES[0]),
    ):
        results(tmp_path, minor(release), adapter).add({"dbt-core": release}, [Outcome(outcome)])
    runs = known_runs(CASES, tmp_path)
    assert [(run.adapter, run.versions) for run in runs] == [
        ("dbt-lakemerge, dbt-core 1.12", "dbt-core 1.12.6"),
        ("dbt-lakemerge, dbt-core 1.11", "dbt-core 1.11.16"),
        ("dbt-lakemerge, dbt-core 1.9", "dbt-core 1.9.4"),
        ("dbt-spark, dbt-core 1.11", "dbt-core 1.11.16"),
    ]
    assert [[item.case.name for item in run.outcomes if item.passed] for run in runs] == [
        ["Base.test_passes"],
        ["Base.test_fails"],
        ["Base.test_passes"],
        ["Base.test_passes"],
    ]
