"""``lakemerge init``: a project to start from."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import click
from dbt.include.lakemerge import PACKAGE_PATH

_STARTER = Path(PACKAGE_PATH) / "starter_project"
# The files that name the project, by the name it has in the package.
_NAME = "starter"
_NAMED_IN = ("README.md", "dbt_project.yml", "profiles.yml")


@click.command()
@click.argument("name")
def init(name: str) -> None:
    """Make a dbt project in the new folder NAME, ready for `dbt build`.

    It merges a feed of changes into a table and keeps the versions of its rows, on a metastore and tables below that
    folder. Its profile is in it, so that ~/.dbt is neither read nor changed.
    """
    # what dbt requires of a project's name, and Hive of a schema's
    if not re.fullmatch(r"[a-z]\w*", name, re.ASCII) or name.startswith("dbt_"):
        raise click.ClickException(
            f"Expected a name of letters, digits and underscores that begins with a small letter and not with dbt_; "
            f"found {name!r}. Choose another one."
        )
    folder = Path(name)
    if folder.exists():
        raise click.ClickException(
            f"Expected a new folder; found that {folder.absolute()} exists. Choose another name, or remove it."
        )
    shutil.copytree(_STARTER, folder)
    for file in _NAMED_IN:
        text = (folder / file).read_text()
        (folder / file).write_text(re.sub(rf"\b{_NAME}\b", name, text))
    click.echo(
        f"Made {folder.absolute()}. Go on with:\n\n    cd {name}\n    dbt build\n\nIts README.md says more."
    )
