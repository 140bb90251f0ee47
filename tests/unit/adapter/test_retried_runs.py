"""What `dbt retry` repeats, by the results of the runs before it."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
from dbt.adapters.lakemerge.retried_runs import retried_runs

from lakemerge.errors import NotPublished


def results_of(folder: Path, invocation: str, **messages: str) -> Any:
    """Write the results of a run, by the node's name; returns the config of a project that has them."""
    results = [
        {
            "unique_id": f"model.shop.{name}",
            "status": "success",
            "message": message,
            "adapter_response": dict([("unpublished", True) if "staged" in message else ("version", 1)]),
        }
        for name, message in messages.items()
    ]
    run = {
        "metadata": {"invocation_id": invocation},
        "args": {"invocation_command": "dbt build --select orders+"},
        "results": results,
    }
    (folder / "target").mkdir(exist_ok=True)
    (folder / "target/run_results.json").write_text(json.dumps(run))
    return SimpleNamespace(project_root=str(folder), target_path="target")


def command(name: str) -> click.Context:
    context = click.Context(click.Command(name))
    context.params = {"state": None}
    return context


def test_each_retry_knows_all_that_it_repeats(tmp_path: Path) -> None:
    config = results_of(tmp_path, "first", orders="MERGE (1 inserted, version 2)")
    with command("build"):
        assert retried_runs(config, "second") == ()
    with command("retry"):
        assert retried_runs(config, "second") == ("first",)
        results_of(tmp_path, "second")
        assert retried_runs(config, "third") == ("second", "first")
        assert retried_runs(config, "third") == ("second", "first")


def test_a_run_that_was_cut_off_before_it_published_is_run_again_and_not_retried(tmp_path: Path) -> None:
    config = results_of(
        tmp_path, "first", orders="MERGE (1 inserted, staged)", shown="VIEW (staged)", other="OK (version 3)"
    )
    with command("retry"), pytest.raises(NotPublished) as caught:
        retried_runs(config, "second")
    assert "model.shop.orders, model.shop.shown" in caught.value.found
    assert caught.value.action == "Run `dbt build --select orders+` again."
    with command("build"):
        assert retried_runs(config, "second") == ()


def test_what_is_retried_is_written_in_one_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = results_of(tmp_path, "first")
    chain = tmp_path / "target/lakemerge_retries.json"
    with command("retry"):
        retried_runs(config, "second")
        before = chain.read_text()
        results_of(tmp_path, "second")
        with monkeypatch.context() as killed:
            killed.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                retried_runs(config, "third")
        assert chain.read_text() == before
        assert retried_runs(config, "third") == ("second", "first")
