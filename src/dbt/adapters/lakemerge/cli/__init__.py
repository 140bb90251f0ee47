"""The command line ``lakemerge``."""

import click
from dbt.adapters.lakemerge.cli.archive_command import archive_classes
from dbt.adapters.lakemerge.cli.init_command import init
from dbt.adapters.lakemerge.cli.stream_command import stream


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="lakemerge")
def cli() -> None:
    """What lakemerge does besides dbt's own commands."""


cli.add_command(archive_classes)
cli.add_command(init)
cli.add_command(stream)
