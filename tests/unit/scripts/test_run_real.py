"""What a release changed, how it is read from its archive, and how releases are mixed."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from pathlib import Path

import pytest

from run_real import MEMBER, RELEASES, Row, changes, differences, shuffled, snapshot, write

FRANCE: Row = ("FR", "Île-de-France", None, "Region")
PARIS: Row = ("FR", "Paris", "FR-IDF", "Department")
CITY: Row = ("FR", "Paris", "FR-IDF", "Metropolitan city")


def test_first_release_inserts_all_its_rows() -> None:
    (release,) = changes([{"FR-IDF": FRANCE, "FR-75": PARIS}])
    assert release.expected == {"inserted": 2, "updated": 0, "deleted": 0, "ignored": 0}


def test_changes_are_told_from_the_release_before() -> None:
    release = changes([{"FR-IDF": FRANCE, "FR-75": PARIS}, {"FR-75": CITY, "FR-69": PARIS}])[1]
    assert release.expected == {"inserted": 1, "updated": 1, "deleted": 1, "ignored": 0}
    assert release.moved == 1
    assert release.deleted == ["FR-IDF"]


def test_equal_releases_change_nothing() -> None:
    release = changes([{"FR-75": PARIS}, {"FR-75": PARIS}])[1]
    assert (release.text(), sum(release.expected.values())) == ("", 0)


def test_feed_keeps_unicode_and_marks_deletes(tmp_path: Path) -> None:
    write(changes([{"FR-IDF": FRANCE}, {}]), tmp_path)
    first, second = (json.loads(path.read_text(encoding="utf-8")) for path in sorted(tmp_path.iterdir()))
    assert first == {
        "code": "FR-IDF",
        "country": "FR",
        "name": "Île-de-France",
        "parent": None,
        "type": "Region",
        "is_delete": False,
        "release": 0,
    }
    assert second == {"code": "FR-IDF", "is_delete": True, "release": 1}


@pytest.mark.parametrize("seed", range(20))
def test_shuffled_delivers_every_release_and_repeats_some(seed: int) -> None:
    releases = list(range(len(RELEASES)))
    batches = shuffled(releases, seed)
    delivered = [number for batch in batches for number in batch]
    assert sorted(set(delivered)) == releases
    assert all(len(set(batch)) == len(batch) for batch in batches)


def test_default_order_has_late_and_repeated_releases() -> None:
    delivered = [number for batch in shuffled(list(range(len(RELEASES))), 20161108) for number in batch]
    assert delivered != sorted(delivered)
    assert len(delivered) > len(set(delivered))


@pytest.mark.parametrize("kind", ["wheel", "source archive"])
def test_release_is_read_from(kind: str, tmp_path: Path) -> None:
    body = {"3166-2": [{"code": "FR-75", "name": "Paris", "parent": "FR-IDF", "type": "Department"}]}
    content = json.dumps(body).encode()
    if kind == "wheel":
        archive = tmp_path / "pycountry-1-py3-none-any.whl"
        with zipfile.ZipFile(archive, "w") as wheel:
            wheel.writestr(MEMBER, content)
    else:
        archive = tmp_path / "pycountry-1.tar.gz"
        with tarfile.open(archive, "w:gz") as source:
            member = tarfile.TarInfo(f"pycountry-1/src/{MEMBER}")
            member.size = len(content)
            source.addfile(member, io.BytesIO(content))
    assert snapshot(archive) == {"FR-75": PARIS}


def test_equal_rows_have_no_differences() -> None:
    assert differences([("FR-75", PARIS)], {"FR-75": PARIS}) == ""


@pytest.mark.parametrize(
    ("found", "kind"),
    [
        ([], "1 missing"),
        ([("FR-75", PARIS), ("FR-69", PARIS)], "1 surplus"),
        ([("FR-75", CITY)], "1 different"),
        ([("FR-75", PARIS), ("FR-75", PARIS)], "1 doubled"),
    ],
)
def test_difference_is_named(found: list[tuple[str, Row]], kind: str) -> None:
    assert differences(found, {"FR-75": PARIS}).startswith(kind)
