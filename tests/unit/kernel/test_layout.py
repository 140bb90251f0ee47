"""Where a table keeps what."""

from __future__ import annotations

import pytest

from lakemerge.kernel.ports.system import SystemClock, SystemHost, new_transaction_id
from lakemerge.kernel.table.layout import Layout, normal

LAYOUT = Layout("file:/wh/t/")


@pytest.mark.parametrize(
    ("location", "relative"),
    [
        ("file:/wh/t/_lakemerge/data/x/p=1", "_lakemerge/data/x/p=1"),
        ("file:///wh/t/p=1/", "p=1"),
        ("file:/wh/other/p=1", "file:/wh/other/p=1"),
        ("hdfs://name:8020/wh/t/p=1", "hdfs://name:8020/wh/t/p=1"),
        ("file:/wh/t2/p=1", "file:/wh/t2/p=1"),
        ("file:/wh/t/2024-01-01 10:00/x", "file:/wh/t/2024-01-01 10:00/x"),
    ],
)
def test_locations_are_relative_below_the_root(location: str, relative: str) -> None:
    assert LAYOUT.relative(location) == relative
    assert normal(LAYOUT.absolute(relative)) == normal(location)


def test_the_root_itself_stays_a_uri_and_comes_back() -> None:
    assert normal(LAYOUT.absolute(LAYOUT.relative("file:/wh/t"))) == "file:/wh/t"
    assert LAYOUT.absolute("") == "file:/wh/t"


def test_a_relative_location_may_hold_a_colon_in_a_later_part() -> None:
    assert LAYOUT.absolute("_lakemerge/data/x/t=10:00") == "file:/wh/t/_lakemerge/data/x/t=10:00"


@pytest.mark.parametrize(
    ("location", "owned"),
    [
        ("file:/wh/t/_lakemerge/data/x/p=1", True),
        ("file:///wh/t/_lakemerge/empty/x", True),
        ("file:/wh/t/p=1", False),
        ("file:/wh/t", False),
        ("file:/wh/t2/_lakemerge/data/x", False),
    ],
)
def test_what_lakemerge_made(location: str, owned: bool) -> None:
    assert LAYOUT.owns(location) is owned


@pytest.mark.parametrize(
    ("uri", "spelling"),
    [
        ("file:///a/b/", "file:/a/b"),
        ("file:/a/b", "file:/a/b"),
        ("hdfs://name/a", "hdfs://name/a"),
        ("s3a://bucket/a/", "s3a://bucket/a"),
    ],
)
def test_one_spelling_of_a_uri(uri: str, spelling: str) -> None:
    assert normal(uri) == spelling


def test_transactions_have_ids_of_their_own() -> None:
    assert len({new_transaction_id(SystemClock(), SystemHost()) for _ in range(1000)}) == 1000


def test_transaction_ids_hide_from_no_reader() -> None:
    """Hadoop's input formats skip a directory whose last part begins with an underscore or a dot."""
    assert new_transaction_id(SystemClock(), SystemHost())[0].isdigit()


def test_all_but_the_data_is_hidden_below_one_folder() -> None:
    paths = [
        LAYOUT.data_of("x"),
        LAYOUT.sidecar_of("ledger", "x"),
        LAYOUT.manifest_of("x"),
        LAYOUT.heartbeat_of("x"),
        LAYOUT.empty_of("x"),
        LAYOUT.rebuilds,
        LAYOUT.dropping,
    ]
    assert all(path.startswith("file:/wh/t/_lakemerge/") for path in paths)
    assert len(set(paths)) == len(paths)
