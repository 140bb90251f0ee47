"""Options that are SQL over the feed: a mistake is named by its option, without Spark's plan."""

from __future__ import annotations

from typing import Any

import pytest
from dbt_common.exceptions import DbtRuntimeError

SCHEMA = "id bigint, name string, ts bigint, op string"
ROW = {"id": 1, "name": "a", "ts": 1, "op": "U"}
FEED = {"unique_key": "id", "sequence_by": "ts", "except_column_list": ["op"]}
HISTORY = {**FEED, "stored_as_scd_type": 2}


class TestExpressions:
    @pytest.mark.parametrize("config", [FEED, HISTORY], ids=["master", "history"])
    @pytest.mark.parametrize(
        ("option", "text", "reason"),
        [
            ("sequence_by", "tz", "`tz` cannot be resolved. Did you mean"),
            ("sequence_by", ["ts", "tz"], "`tz` cannot be resolved. Did you mean"),
            ("apply_as_deletes", "opp = 'D'", "`opp` cannot be resolved. Did you mean"),
            ("apply_as_truncates", "op = 'T", "[PARSE_SYNTAX_ERROR]"),
            ("sequence_by", "max(ts) + 1", "[MISSING_GROUP_BY]"),
            ("sequence_by", "ts as t", "[PARSE_SYNTAX_ERROR]"),
            ("sequence_by", "ts -- the time", "[PARSE_SYNTAX_ERROR]"),
            ("apply_as_deletes", "ts", "bigint, not true or false: write a condition, such as flag = 1"),
        ],
    )
    def test_sql_that_does_not_fit_the_feed(
        self, merger: Any, config: dict[str, Any], option: str, text: str | list[str], reason: str
    ) -> None:
        table = merger({**config, option: text}, SCHEMA)
        with pytest.raises(DbtRuntimeError) as raised:
            table.merge([ROW])
        message = str(raised.value)
        assert "InvalidConfig" in message
        assert f"{option}: {text if isinstance(text, str) else text[-1]} (" in message
        assert reason in message
        assert "Project" not in message, "no plan of Spark's"

    def test_every_mistake_is_named_at_once(self, merger: Any) -> None:
        table = merger({**FEED, "sequence_by": "tz", "apply_as_deletes": "opp = 'D'"}, SCHEMA)
        with pytest.raises(DbtRuntimeError, match=r"sequence_by: tz \(.*; apply_as_deletes: opp = 'D' \("):
            table.merge([ROW])
