"""Macros that users call or override have an entry in the yml of their folder, which says what they really take.

The others are called by the engine or by macros alone; what they take is said beside them.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from dbt.adapters.lakemerge.capability import capability
from dbt.adapters.lakemerge.impl import LakemergeAdapter
from dbt.parser.schemas import is_valid_type

from render_macros import Macros, documentation

ROOT = Path(__file__).parents[2]
MACROS = ROOT / "macros"
ALL = Macros(MACROS)
DOCUMENTED = documentation(MACROS)


def is_private(name: str) -> bool:
    return name.startswith("_")


def file_stem_of(name: str) -> str:
    """The file that a macro belongs in: dbt's own prefixes and suffixes are left out."""
    name = re.sub(r"^(materialization|test)_", "", name)
    return re.sub(r"^lakemerge__|_(lakemerge|default)$", "", name)


def test_there_are_macros() -> None:
    assert ALL.own


@pytest.mark.parametrize("name", sorted(set(ALL.own) - set(DOCUMENTED)))
def test_a_macro_without_an_entry_is_called_by_us(name: str) -> None:
    ours = "".join(path.read_text() for path in (*(ROOT / "src").rglob("*.py"), *MACROS.rglob("*.sql")))
    calls = re.findall(rf"(?<!macro )\b{name}\b(?=\(|,|\)| |$)", ours, re.MULTILINE)
    assert calls, (
        f"describe {name} in {ALL.own[name].parent}/_{ALL.own[name].parent.name}.yml, for users alone call it"
    )


@pytest.mark.parametrize("name", sorted(DOCUMENTED))
def test_the_entry_names_the_arguments_of_the_macro(name: str) -> None:
    arguments = tuple(argument for argument, _kind in DOCUMENTED[name].arguments)
    assert arguments == ALL.signature(name)


@pytest.mark.parametrize("name", sorted(DOCUMENTED))
def test_the_entry_is_complete(name: str) -> None:
    entry = DOCUMENTED[name]
    assert name in ALL.own, f"there is no macro {name}"
    assert entry.description.strip()
    for (argument, kind), description in zip(entry.arguments, entry.descriptions, strict=True):
        assert is_valid_type(kind), f"dbt knows no type {kind!r} ({argument})"
        assert description.strip(), f"describe {argument}"


@pytest.mark.parametrize(
    "folder", sorted(path for path in MACROS.rglob("*") if path.is_dir()), ids=lambda path: path.name
)
def test_the_entries_stand_beside_the_macros(folder: Path) -> None:
    defined = {name for name, path in ALL.own.items() if path.parent == folder}
    beside = folder / f"_{folder.name}.yml"
    listed = (
        [entry["name"] for entry in yaml.safe_load(beside.read_text())["macros"]] if beside.exists() else []
    )
    assert set(listed) <= defined
    assert len(listed) == len(set(listed))


@pytest.mark.parametrize("path", sorted(MACROS.rglob("*.sql")), ids=lambda path: path.stem)
def test_a_file_has_one_public_macro_and_its_name(path: Path) -> None:
    public = [name for name, file in ALL.own.items() if file == path and not is_private(name)]
    assert [file_stem_of(name) for name in public] == [path.stem]


def test_macros_call_only_what_the_adapter_offers_them() -> None:
    called = {
        match.groups()
        for path in sorted(MACROS.rglob("*.sql"))
        for match in re.finditer(r"\badapter\.(\w+)(?:\.(\w+))?", path.read_text())
    }
    assert {name for name, _ in called} <= LakemergeAdapter._available_
    capabilities = {
        name: of.kind for name, of in vars(LakemergeAdapter).items() if isinstance(of, capability)
    }
    offered = {
        (name, method)
        for name, kind in capabilities.items()
        for method in dir(kind)
        if getattr(inspect.getattr_static(kind, method), "_is_available_", False)
    }
    assert {one for one in called if one[0] in capabilities} <= offered


def test_while_dbt_parses_a_capability_gives_what_its_methods_say() -> None:
    at_parse: Any = LakemergeAdapter._parse_replacements_
    assert at_parse["operations"].history("shop.orders") == []
    assert at_parse["consumers"].consume("shop.orders") is None
