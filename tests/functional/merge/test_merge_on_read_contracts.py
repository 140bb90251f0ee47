"""An enforced contract holds for what a merge on read writes, as for rows that take their place in the table."""

from __future__ import annotations

from typing import Any

import pytest
from dbt_common.exceptions import DbtRuntimeError

from .test_merge_properties import CONFIG

pytestmark = pytest.mark.slow

FEED = "id bigint, price int, ts bigint, op string"


def row(number: int, price: int | None, ts: int, op: str = "U") -> dict[str, Any]:
    return {"id": number, "price": price, "ts": ts, "op": op}


def constrained(merger: Any, **options: Any) -> Any:
    """A table whose contract has constraints named like each other, and like what is counted besides."""
    table = merger({**CONFIG, "contract": {"enforced": True}, **options}, FEED)
    checks = [("positive", "price > 0"), ("rows", "price < 100"), ("positive", "id > 0")]
    table.model["columns"] = {"price": {"name": "price", "constraints": [{"type": "not_null"}]}}
    table.model["constraints"] = [{"type": "check", "name": name, "expression": sql} for name, sql in checks]
    return table


BREAKING = [row(1, -1, 2), row(2, 100, 2), row(3, None, 2), row(-4, 1, 2)]


class TestContracts:
    @pytest.mark.parametrize("write_mode", ["merge_on_read", "copy_on_write"])
    def test_a_row_that_breaks_a_constraint_is_not_published(self, merger: Any, write_mode: str) -> None:
        table = constrained(merger, write_mode=write_mode)
        table.merge([row(1, 1, 1), row(2, 2, 1)])
        version = table.history()[0]["version"]
        for breaking, name in zip(BREAKING, ["positive", "rows", "not_null_price", "positive"], strict=True):
            with pytest.raises(DbtRuntimeError, match=f"(?s)ConstraintViolated.*1 rows with .*{name}"):
                table.merge([row(1, 3, 2), breaking] if breaking["id"] != 1 else [breaking])
        with pytest.raises(DbtRuntimeError, match="ConstraintViolated"):  # changes that have to be matched
            table.merge([row(5, 1, 0), row(1, -1, 2)])
        assert table.history()[0]["version"] == version
        # of a deleted row nothing but the key is there
        table.merge([row(1, None, 3, "D"), row(2, 4, 3)])
        assert [one["price"] for one in table.rows()] == [4]
        table.drop()
