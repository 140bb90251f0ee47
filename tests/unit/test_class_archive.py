"""Where the archive of Java's classes is, and when Java is told to start from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakemerge.class_archive import archive_of, record_options, use_options


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A Java and a folder of jars, with an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    java, jars = tmp_path / "java", tmp_path / "jars"
    java.mkdir()
    (java / "release").write_text('JAVA_VERSION="17.0.15"')
    jars.mkdir()
    (jars / "spark.jar").write_text("classes")
    return java, jars


def test_it_is_in_the_cache_folder(installed: tuple[Path, Path], tmp_path: Path) -> None:
    assert archive_of(*installed).parent == tmp_path / "cache" / "lakemerge"
    assert archive_of(*installed) == archive_of(*installed)


@pytest.mark.parametrize("changed", ["another jar", "a longer jar", "another java", "a newer java"])
def test_what_java_loads_classes_from_decides_which_it_is(
    installed: tuple[Path, Path], changed: str, tmp_path: Path
) -> None:
    java, jars = installed
    before = archive_of(java, jars)
    if changed == "another jar":
        (jars / "orc.jar").write_text("more")
    elif changed == "a longer jar":
        (jars / "spark.jar").write_text("more classes")
    elif changed == "another java":
        java = tmp_path / "another"
    else:
        (java / "release").write_text('JAVA_VERSION="17.0.16"')
    assert archive_of(java, jars) != before


def test_java_starts_without_one_that_is_not_there(installed: tuple[Path, Path]) -> None:
    archive = archive_of(*installed)
    assert use_options(archive) == ()
    archive.parent.mkdir(parents=True)
    archive.write_text("classes")
    assert use_options(archive)[0] == f"-XX:SharedArchiveFile={archive}"


@pytest.mark.parametrize(
    "given", ["-Xshare:off", "-XX:SharedArchiveFile=mine.jsa", *record_options(Path("made"))[:1]]
)
def test_the_users_own_options_come_first(installed: tuple[Path, Path], given: str) -> None:
    archive = archive_of(*installed)
    archive.parent.mkdir(parents=True)
    archive.write_text("classes")
    assert use_options(archive, f"-Xmx1g {given}") == ()
