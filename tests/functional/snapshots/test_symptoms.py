"""What users of dbt's snapshots elsewhere report, shown to be impossible here; each test bears the symptom's name."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

pytestmark = pytest.mark.slow

COLUMNS = "id int, name string, changed_at timestamp"
TIMESTAMP = {"unique_key": "id", "strategy": "timestamp", "updated_at": "changed_at"}


def day(number: int) -> datetime.datetime:
    return datetime.datetime(2024, 1, number)


def row(key: int, name: str, number: int) -> str:
    return f"{key}, '{name}', timestamp'2024-01-{number:02} 00:00:00'"


class TestSymptoms:
    def test_duplicate_dbt_scd_id_from_a_source_with_duplicate_rows(self, snapshot: Any) -> None:
        """dbt-adapters #1759: each of several source rows of a key becomes a current row, with one id."""
        snapshot.configure(**TIMESTAMP)
        snapshot.source(COLUMNS, [row(1, "a", 1), row(7, "same", 1), row(7, "same", 1)])
        first = snapshot.run(expect_pass=False)
        assert "DuplicateKey" in first.message
        assert "(7)" in first.message
        assert not snapshot.sql(f"show tables in {snapshot.schema} like 'history'")

        snapshot.source(COLUMNS, [row(1, "a", 1), row(7, "g", 1)])
        snapshot.run()
        before = snapshot.rows()
        snapshot.source(COLUMNS, [row(1, "a2", 2), row(7, "g", 1), row(7, "h", 2)])
        later = snapshot.run(expect_pass=False)
        assert "DuplicateKey" in later.message
        assert "(7)" in later.message
        assert snapshot.rows() == before, "nothing of a refused run is seen"
        snapshot.source("id int, name string, changed_at timestamp", ["null, 'n', null", row(1, "a2", 2)])
        nulls = snapshot.run(expect_pass=False)
        assert "NullKey" in nulls.message
        assert snapshot.rows() == before

    def test_duplicate_dbt_scd_id_of_keys_whose_parts_hold_the_separator(self, snapshot: Any) -> None:
        """dbt-adapters #1759: two keys that read the same with dbt's separator between their parts."""
        snapshot.configure(unique_key=["a", "b"], strategy="timestamp", updated_at="changed_at")
        columns = "a string, b string, changed_at timestamp"
        rows = [
            f"'{a}', '{b}', timestamp'2024-01-01 00:00:00'"
            for a, b in (("x|y", "z"), ("x", "y|z"), ("x", "y"))
        ]
        snapshot.source(columns, rows)
        snapshot.run()
        snapshot.assert_sound("a, b")
        (plain,) = snapshot.rows("dbt_scd_id = md5('x|y|2024-01-01 00:00:00')", order="a, b limit 1")
        assert plain == (True,), "any other key has dbt's own id"

    def test_several_versions_of_a_key_in_one_run_of_an_append_only_source(self, snapshot: Any) -> None:
        """dbt-core #3878: dbt makes a current row of each. Here it is an error that says what does keep them."""
        snapshot.configure(**TIMESTAMP)
        snapshot.source(COLUMNS, [row(1, "a", 1), row(1, "b", 2), row(2, "c", 1)])
        result = snapshot.run(expect_pass=False)
        assert "stored_as_scd_type: 2" in result.message
        assert "(1)" in result.message
        assert "(2)" not in result.message

    def test_a_change_that_arrives_out_of_order_ends_no_version_before_it_begins(self, snapshot: Any) -> None:
        """dbt-core #7138: by `check` with `updated_at`, an older row closes the newer one before its beginning."""
        snapshot.configure(unique_key="id", strategy="check", check_cols=["name"], updated_at="changed_at")
        for rows in (
            [row(1, "a", 16), row(2, "x", 16)],
            [row(1, "older", 15), row(2, "same day", 16)],
            [row(1, "b", 17), row(2, "same day", 16)],
        ):
            snapshot.source(COLUMNS, rows)
            snapshot.run()
            snapshot.assert_sound()
        names = snapshot.rows(
            "id, name, dbt_updated_at, dbt_valid_from = dbt_updated_at", "id, dbt_valid_from"
        )
        assert names[:2] == [(1, "a", day(16), True), (1, "older", day(15), False)], (
            "it begins when a run saw it"
        )
        assert (1, "b", day(17), False) in names
        assert names[3:] == [(2, "x", day(16), True), (2, "same day", day(16), False)]

    @pytest.mark.parametrize("sentinel", ["to_timestamp('9999-12-31')", "date('9999-12-31')"])
    def test_rows_that_multiply_in_each_run_with_dbt_valid_to_current(
        self, snapshot: Any, sentinel: str
    ) -> None:
        """dbt-core #11747: the old version is not closed, and both are taken for current in the next run."""
        snapshot.configure(**TIMESTAMP, dbt_valid_to_current=sentinel)
        for number in (1, 2, 3):
            snapshot.source(COLUMNS, [row(1, f"v{number}", number), row(2, "b", 1)])
            snapshot.run()
        expected = [(1, "v1", day(2)), (1, "v2", day(3)), (1, "v3", datetime.datetime(9999, 12, 31))]
        assert snapshot.rows("id, name, dbt_valid_to")[:3] == expected
        snapshot.assert_sound(valid_to_current=sentinel)

    def test_rows_that_multiply_when_dbt_valid_to_current_is_changed(self, snapshot: Any) -> None:
        """dbt-core #11747: rows with the value of the earlier configuration are no longer taken for current."""
        snapshot.source(COLUMNS, [row(1, "a", 1), row(2, "b", 1), row(3, "c", 1)])
        snapshot.configure(**TIMESTAMP, dbt_valid_to_current="date('9999-12-31')")
        snapshot.run()
        for number, config in ((2, {"dbt_valid_to_current": "date('2999-01-01')"}), (3, {})):
            snapshot.configure(**TIMESTAMP, **config)
            snapshot.source(COLUMNS, [row(1, f"v{number}", number), row(2, "b", 1), row(3, "c", number)])
            snapshot.run()
        ends = snapshot.rows("id, cast(dbt_valid_to as string)", "id, dbt_valid_from")
        assert ends == [
            (1, "2024-01-02 00:00:00"),
            (1, "2024-01-03 00:00:00"),
            (1, None),
            (2, "9999-12-31 00:00:00"),
            (3, "2024-01-02 00:00:00"),
            (3, "2024-01-03 00:00:00"),
            (3, None),
        ]
