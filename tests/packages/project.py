"""Projects to run: a copy of the tests of a package, with all packages that they need installed beside them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

PROJECT_FILE = "dbt_project.yml"
# Files in which a project lists its packages. They are left out: they name releases, and not folders.
_LISTS = ("packages.yml", "dependencies.yml", "package-lock.yml")
_NOT_COPIED = shutil.ignore_patterns(".git", "target", "logs", "dbt_packages", "integration_test*", *_LISTS)


class PackageNotFound(Exception):
    """A package that is to be tried, or one that it needs, is not among the sources."""


@dataclass(frozen=True)
class Sources:
    """Folders of packages, by the names of their projects."""

    folders: Mapping[str, Path]

    @classmethod
    def below(cls, folder: Path) -> Sources:
        """The packages in the folders of a folder, whatever these are called."""
        found = {_name(path.parent): path.parent for path in sorted(folder.glob(f"*/{PROJECT_FILE}"))}
        return cls(found)

    def of(self, name: str) -> Path:
        if name not in self.folders:
            raise PackageNotFound(
                f"expected the package {name} among the sources; found {', '.join(self.folders) or 'none'}. "
                "Clone it beside them, or let `dbt deps` fetch all of them."
            )
        return self.folders[name]


def prepare(
    work: Path, tests: Path, sources: Sources, settings: Mapping[str, Any], type_in_tests: str = ""
) -> str:
    """Make a project from the tests of a package, and return the name of the profile that it asks for.

    Args:
        work: where it is to be; what was there before goes.
        settings: what is added to its ``dbt_project.yml``.
        type_in_tests: what stands in the tests for ``target.type``.
    """
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(tests, work, ignore=_NOT_COPIED)
    if type_in_tests:
        for path in (path for path in work.rglob("*") if path.suffix in (".sql", ".yml")):
            path.write_text(path.read_text().replace("target.type", _expression(type_in_tests)))
    needed = _needed(tests, sources)
    for name, folder in needed.items():
        shutil.copytree(folder, work / "dbt_packages" / name, ignore=_NOT_COPIED)
    # dbt compares how many are listed with how many are there
    listed = {"packages": [{"local": f"dbt_packages/{name}"} for name in needed]}
    (work / _LISTS[0]).write_text(yaml.safe_dump(listed))
    project = yaml.safe_load((work / PROJECT_FILE).read_text())
    merged = merge(project, settings)
    (work / PROJECT_FILE).write_text(yaml.safe_dump(merged, sort_keys=False))
    return str(merged["profile"])


def _expression(text: str) -> str:
    """A text as an expression of Jinja that is not constant: what constants come to, dbt's YAML has as a text."""
    return f"(target and '{text}')"


def merge(given: Mapping[str, Any], added: Mapping[str, Any]) -> dict[str, Any]:
    """Both, where they have a key in common the one that is added; mappings in them likewise."""
    merged = dict(given)
    for key, value in added.items():
        known = merged.get(key)
        if isinstance(known, Mapping) and isinstance(value, Mapping):
            value = merge(known, value)
        merged[key] = value
    return merged


def _needed(project: Path, sources: Sources) -> dict[str, Path]:
    """The packages that a project needs, and those that they need, by name."""
    found: dict[str, Path] = {}
    waiting = [project]
    while waiting:
        for folder in _listed(waiting.pop(), sources):
            if _name(folder) not in found:
                found[_name(folder)] = folder
                waiting.append(folder)
    return found


def _listed(project: Path, sources: Sources) -> Iterator[Path]:
    for file in _LISTS[:2]:
        text = (project / file).read_text() if (project / file).exists() else ""
        for item in (yaml.safe_load(text) or {}).get("packages", []):
            yield (
                (project / item["local"]).resolve()
                if "local" in item
                else sources.of(_short(item["package"]))
            )


def _short(name: str) -> str:
    return name.rpartition("/")[2]


def _name(folder: Path) -> str:
    return str(yaml.safe_load((folder / PROJECT_FILE).read_text())["name"])
