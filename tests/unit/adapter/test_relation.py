from __future__ import annotations

import pytest
from dbt.adapters.contracts.relation import RelationType
from dbt.adapters.lakemerge.relation import LakemergeRelation

from lakemerge.kernel.ports.names import TableName


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("MANAGED_TABLE", RelationType.Table),
        ("EXTERNAL_TABLE", RelationType.Table),
        ("VIRTUAL_VIEW", RelationType.View),
        ("MATERIALIZED_VIEW", RelationType.MaterializedView),
        ("INDEX_TABLE", RelationType.External),
    ],
)
def test_types_of_the_metastore(kind: str, expected: RelationType) -> None:
    assert LakemergeRelation.type_of(kind) == expected


def test_names() -> None:
    relation = LakemergeRelation.create(schema="S", identifier="MyTable", type=RelationType.Table)
    assert relation.render() == "S.MyTable"
    assert relation.table_name == TableName("s", "mytable")
    assert not relation.in_session_only
    assert relation.quoted("a`b") == "`a``b`"


def test_a_temporary_view_is_of_the_session() -> None:
    relation = LakemergeRelation.create(schema="s", identifier="v").include(schema=False)
    assert relation.in_session_only
    assert relation.render() == "v"
