"""What each format accepts, and why the rest is rejected."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

COLUMNS = {"id": "int", "name": "string", "price": "decimal(6,2)", "on_day": "date"}


class TestDelimited:
    def test_records_become_rows_or_reasons(self, ingester: Any) -> None:
        table = ingester({"null_literal": ""}, COLUMNS)
        table.land(
            "a.csv",
            "1,x,1.50,2024-02-29\n"
            "2,,,\n"
            '3,"a, ""b""",-1,2024-01-01\n'
            "4,x,1.505,2024-01-01\n"
            "99999999999,x,1,2024-01-01\n"
            "6,x,123456,2024-01-01\n"
            "7,x,1,2024-02-30\n"
            "8,x,1\n"
            "9,x,1,2024-01-01,more\n"
            '10,"x,1,2024-01-01\n'
            " 11,x,1,2024-01-01\n"
            "12,x,1,2024-1-1\n"
            "13,x,1.2e1,2024-01-01\n"
            "1x,x,y,z\n",
        )
        response = table.run()
        assert table.rows() == [
            (1, "x", Decimal("1.50"), datetime.date(2024, 2, 29)),
            (2, None, None, None),
            (3, 'a, "b"', Decimal("-1.00"), datetime.date(2024, 1, 1)),
        ]
        assert table.reasons() == [
            ("precision_lost", "price"),
            ("overflow", "id"),
            ("overflow", "price"),
            ("bad_date", "on_day"),
            ("missing_field", None),
            ("extra_field", None),
            ("malformed_quotes", None),
            ("malformed_value", "id"),
            ("bad_date", "on_day"),
            ("malformed_value", "price"),
            ("malformed_value", "id"),
        ]
        assert (response.inserted, response.quarantined, response.files) == (3, 11, 1)
        last = table.quarantine()[-1]
        assert (last.record, last.line, last.batch) == ("1x,x,y,z", 14, 1)
        assert [problem.column_name for problem in last.problems] == ["id", "price", "on_day"]
        assert last.file.endswith("/a.csv")
