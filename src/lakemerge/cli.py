"""The command line ``lakemerge``: its commands are about dbt projects, and come with the adapter."""

from __future__ import annotations

import importlib
import importlib.util

import click


def main() -> None:
    """Run the command line.

    Raises:
        SystemExit: as click ends a command; with an error where dbt is not installed.
    """
    if importlib.util.find_spec("dbt.adapters.spark") is None:
        error = click.ClickException(
            "Expected dbt, which these commands work with; found none. Run: pip install 'lakemerge[dbt]'"
        )
        error.show()
        raise SystemExit(error.exit_code)
    importlib.import_module("dbt.adapters.lakemerge.cli").cli()
