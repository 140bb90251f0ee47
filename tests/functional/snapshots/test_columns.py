"""How the columns of a snapshot's table may change."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql.types import StructField, StructType

from lakemerge.engine.relations.table_schema import SchemaPlan, plan_change
from lakemerge.engine.spark.releases import type_of_ddl
from lakemerge.errors import IncompatibleColumn
from lakemerge.kernel.ports.metastore import HiveColumn


@pytest.fixture(scope="class", autouse=True)
def session(project: Any) -> None:
    """pyspark asks a session what a type's name means."""
    with project.adapter.connection_named("columns"):
        assert project.adapter.handle.spark


def widened(stored: str, offered: str) -> SchemaPlan:
    kind = "string" if offered.startswith(("varchar", "char")) else offered
    metadata = {"__CHAR_VARCHAR_TYPE_STRING": offered} if kind != offered else {}
    feed = StructType([StructField("c", type_of_ddl(kind), True, metadata)])
    return plan_change(feed, [HiveColumn("c", stored)], [], "append_and_widen")


class TestColumns:
    @pytest.mark.parametrize(
        ("stored", "offered", "rewrites"),
        [
            ("int", "bigint", True),
            ("float", "double", True),
            ("decimal(10,2)", "decimal(12,2)", True),
            ("date", "timestamp", True),
            ("varchar(5)", "varchar(9)", False),
            ("varchar(5)", "string", False),
            ("char(5)", "char(9)", False),
        ],
    )
    def test_a_wider_type_widens_the_column(self, stored: str, offered: str, rewrites: bool) -> None:
        made = widened(stored, offered)
        assert [column.type for column in made.columns] == [offered]
        assert made.rewrites_all is rewrites

    @pytest.mark.parametrize(
        ("stored", "offered"),
        [
            *(("bigint", "int"), ("timestamp", "date"), ("string", "varchar(5)"), ("string", "int")),
            # the blanks of a char's values would become part of them
            *(("char(5)", "string"), ("char(5)", "varchar(9)"), ("varchar(5)", "char(9)")),
        ],
    )
    def test_a_type_that_fits_leaves_the_column_as_it_is(self, stored: str, offered: str) -> None:
        made = widened(stored, offered)
        assert [column.type for column in made.columns] == [stored]
        assert not made.rewrites_all

    @pytest.mark.parametrize(("stored", "offered"), [("int", "string"), ("decimal(10,2)", "double")])
    def test_any_other_type_is_refused(self, stored: str, offered: str) -> None:
        with pytest.raises(IncompatibleColumn, match=f"c: {offered} into"):
            widened(stored, offered)
