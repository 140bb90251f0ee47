"""dbt's frame around a node, and the catalog that is asked for schema by schema."""

from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from dbt.adapters.base import BaseAdapter
from dbt.adapters.base.relation import BaseRelation
from dbt.adapters.lakemerge import impl
from dbt.adapters.lakemerge.catalog import catalogs_by_schema
from dbt.adapters.lakemerge.impl import LakemergeAdapter
from dbt.adapters.lakemerge.relation import LakemergeRelation
from dbt_common.exceptions import CompilationError, DbtRuntimeError


@pytest.fixture
def adapter() -> LakemergeAdapter:
    """An adapter without a configuration."""
    made: LakemergeAdapter = object.__new__(LakemergeAdapter)
    return made


def test_the_error_of_a_batch_is_logged(adapter: LakemergeAdapter, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def frame(*_: Any, **__: Any) -> Any:
        yield

    monkeypatch.setattr(BaseAdapter, "connection_named", frame)
    logger = Mock()
    monkeypatch.setattr(impl, "logger", logger)
    for batch in (None, SimpleNamespace(id="20260101")):
        node = SimpleNamespace(unique_id="model.shop.batches", batch=batch)
        with pytest.raises(CompilationError), adapter.connection_named("model.shop.batches", node):
            raise CompilationError("no such column")
    ((text,), _) = logger.error.call_args
    assert logger.error.call_count == 1
    assert text.startswith("Batch 20260101: ")
    assert "no such column" in text


def test_a_schema_that_cannot_be_read_leaves_the_catalog_of_others(
    adapter: LakemergeAdapter, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, ...]] = []

    class Pool:
        def __enter__(self) -> Pool:
            return self

        def __exit__(self, *_: object) -> None: ...

        def submit_connected(self, _: object, name: str, call: Any, info: Any, some: Any, used: Any) -> str:
            asked.append((name, *sorted(str(one.identifier) for one in some)))
            return name

    monkeypatch.setattr(catalogs_by_schema, "executor", lambda _: Pool())
    monkeypatch.setattr(
        catalogs_by_schema, "catch_as_completed", lambda futures: (futures, [DbtRuntimeError("no")])
    )
    adapter.config = Mock()
    tables: set[BaseRelation] = {
        LakemergeRelation.create(schema=schema, identifier=name) for schema, name in (("a", "x"), ("B", "y"))
    }
    found, errors = adapter.get_catalog_by_relations(frozenset(), tables)
    assert sorted(found) == ["catalog of a", "catalog of b"]
    assert sorted(asked) == [("catalog of a", "x"), ("catalog of b", "y")]
    assert len(errors) == 1
