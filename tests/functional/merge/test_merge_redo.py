"""What a merge does when another commit overtakes it."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from dbt.adapters.lakemerge.publish.node_transaction import NodeTransaction


class TestRedo:
    @pytest.mark.parametrize("history", [False, True], ids=["master", "history"])
    def test_the_feed_is_computed_again_on_what_the_other_commit_left(
        self, merger: Any, monkeypatch: pytest.MonkeyPatch, history: bool
    ) -> None:
        config = {"unique_key": "id", "sequence_by": "ts", "stored_as_scd_type": "2" if history else "1"}
        table = merger(config, "id int, price double, ts int")
        table.merge([{"id": 1, "price": 10.0, "ts": 1}])
        commit = NodeTransaction.commit

        def overtaken(transaction: NodeTransaction, *arguments: Any) -> None:
            monkeypatch.setattr(NodeTransaction, "commit", commit)
            other = threading.Thread(target=table.merge, args=([{"id": 1, "price": 100.0, "ts": 50}],))
            other.start()
            other.join()
            commit(transaction, *arguments)

        monkeypatch.setattr(NodeTransaction, "commit", overtaken)
        latest = "select id, max_by(price, ts) + 1 as price, max(ts) + 1 as ts from {table} group by id"
        assert table.merge(latest).version == 3
        assert [(row["price"], row["ts"]) for row in table.rows("ts")][-1] == (101.0, 51)
