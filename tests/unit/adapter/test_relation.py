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


def test_a_table_without_a_schema_is_a_table() -> None:
    for schema in (None, ""):
        made = {
            kind: LakemergeRelation.create(schema=schema, identifier="x", type=kind)
            for kind in (RelationType.Table, RelationType.View, None)
        }
        assert [one.in_session_only for one in made.values()] == [False, True, True]
        assert made[RelationType.Table].render() == "x"
        assert made[RelationType.Table].staged_view is None


@pytest.mark.parametrize("name", ["my-shop", "a b", "a.b", "a`b", "ä"])
def test_a_name_that_is_no_plain_word_is_quoted(name: str) -> None:
    quoted = "`" + name.replace("`", "``") + "`"
    relation = LakemergeRelation.create(schema=name, identifier=name)
    assert relation.render() == f"{quoted}.{quoted}"
    assert relation.without_identifier().render() == quoted
    assert LakemergeRelation.create(schema="shop", identifier="1st_order").render() == "shop.1st_order"
