"""The wheel and the source distribution hold what the tree holds."""

from __future__ import annotations

import tarfile
import zipfile
from pathlib import Path

from environments import REPOSITORY, Distributions


def files_below(folder: Path) -> set[str]:
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def names_in_wheel(distributions: Distributions) -> set[str]:
    with zipfile.ZipFile(distributions.wheel) as wheel:
        return {name for name in wheel.namelist() if not name.endswith("/")}


def test_the_wheel_holds_every_macro_file_and_no_other(distributions: Distributions) -> None:
    prefix = "lakemerge/dbt_package/lakemerge/macros/"
    in_wheel = {
        name.removeprefix(prefix) for name in names_in_wheel(distributions) if name.startswith(prefix)
    }
    in_tree = files_below(REPOSITORY / "macros")
    assert any(name.endswith(".sql") for name in in_tree)
    assert in_wheel == in_tree


def test_the_wheel_holds_the_python_packages_and_nothing_else(distributions: Distributions) -> None:
    names = names_in_wheel(distributions)
    installed = {name for name in names if ".dist-info/" not in name and "/macros/" not in name}
    assert installed == {
        name
        for name in files_below(REPOSITORY / "src")
        if "lakemerge/dbt_package/lakemerge/macros/" not in name
    }


def test_the_wheel_leaves_other_packages_files_alone(distributions: Distributions) -> None:
    # dbt-core and dbt-adapters own these; to uninstall a wheel that has them too would delete them
    owned = {f"{folder}/__init__.py" for folder in ("dbt", "dbt/adapters", "dbt/include")}
    assert not owned & names_in_wheel(distributions)


def test_the_wheel_has_its_licence_and_its_types(distributions: Distributions) -> None:
    names = names_in_wheel(distributions)
    assert {"lakemerge/py.typed", "dbt/adapters/lakemerge/py.typed"} <= names
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


def test_the_source_distribution_holds_every_macro_file_once(distributions: Distributions) -> None:
    with tarfile.open(distributions.sdist) as sdist:
        members = [member.name.split("/", 1)[1] for member in sdist.getmembers() if not member.isdir()]
    macros = [name for name in members if name.startswith("macros/")]
    assert sorted(macros) == sorted(f"macros/{name}" for name in files_below(REPOSITORY / "macros"))
    assert len(members) == len(set(members))
