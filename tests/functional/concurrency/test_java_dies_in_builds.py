"""The Java process dies in a build that publishes after its tests: one reason is told, and the next build publishes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from functional.concurrency.conftest import DbtProject, read_until
from functional.concurrency.dead_java import NOISE, REASON, java_of
from functional.concurrency.waiting_builds import COPY, DAYS, LAST, MASTER

SHOWN = (
    "{{ config(materialized='view', publish='after_tests') }} select max(day) as day from {{ ref('copied') }}"
)
MODELS = {"master": MASTER, "copied": COPY, "pairs": LAST, "shown": SHOWN}
#: The step of the commit at which Java dies, and the day that stands then.
MOMENTS = {"table claimed": 2, "claimed": 3}


def statuses(project: DbtProject) -> dict[str, str]:
    """What dbt's results say of the nodes of the last build."""
    results: list[dict[str, Any]] = json.loads((project.root / "target1/run_results.json").read_text())[
        "results"
    ]
    return {one["unique_id"].rpartition(".")[2]: one["status"] for one in results}


def assert_told(output: str, found: dict[str, str]) -> None:
    assert f"{REASON}was killed (signal 9, SIGKILL)" in output
    assert "Run again" in output
    # what dbt says when a hook cannot even be rendered
    noise = [word for word in (*NOISE, "keyboard interrupt", "Encountered an error") if word in output]
    assert not noise, (noise, output)
    assert found, "the results are there"


@pytest.mark.slow
def test_nothing_or_all_is_published_and_the_next_build_leaves_nothing_behind(
    dbt_project: Callable[[str], DbtProject], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DBT_WRITE_JSON", "true")
    project = dbt_project("java_in_build")
    for name, text in MODELS.items():
        project.write(f"models/{name}.sql", text)
    project.run("build")
    with project.commands(2) as dbt:

        def days() -> list[Any]:
            return [*dbt.rows(DAYS), *dbt.rows("select day from {{ ref('shown') }}")]

        build = project.start("build", "--vars", "{day: 2, most: 1000000}")
        output = read_until(build, "3 of 4 START")
        java_of(build).kill()
        output += build.communicate(timeout=200)[0]
        assert build.returncode == 1, output
        assert_told(output, statuses(project))
        assert "Nothing was published of java_in_build.master, java_in_build.copied" in output
        assert {statuses(project)[name] for name in ("master", "copied")} == {"skipped"}
        assert days() == [[1]] * 3
        retried = project.start("retry", "--vars", "{day: 2}")
        output = retried.communicate(timeout=400)[0]
        assert retried.returncode == 0, output
        assert days() == [[2]] * 3
        for step, stands in MOMENTS.items():
            build = project.start("build", "--vars", "{day: 3}", dies_at=f"java:{step}")
            output = build.communicate(timeout=400)[0]
            assert build.returncode == 1, output
            found = statuses(project)
            assert_told(output, found)
            assert (found["master"], found["shown"]) == ("success" if stands == 3 else "skipped", "skipped")
            for name in ("master", "copied", "pairs"):
                dbt.succeed("run-operation", "lakemerge_recover", "--args", f"table: {name}")
            assert days() == [[stands]] * 3
        dbt.succeed("build", "--vars", "day: 4")
        assert days() == [[4]] * 3
    tables = project.root / f"warehouse/{project.name}.db"
    assert sorted(path.name for path in tables.iterdir()) == ["copied", "master", "pairs"]
    open_ones = [path for path in tables.glob("*/_lakemerge/open/*") if not path.name.startswith(".")]
    assert open_ones == [], "nothing seems alive"
