"""Write docs/options.md: all options of models, by the code that reads them, with what the guides say of each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from lakemerge.engine.consume.consume_options import ConsumeConfig
from lakemerge.engine.history.history_options import Scd2MergeConfig
from lakemerge.engine.ingest.ingest_options import IngestOptions, IngestReader
from lakemerge.engine.ingest.route_options import RoutingOptions
from lakemerge.engine.merge.merge_options import MergeConfig
from lakemerge.engine.options.append import AppendConfig
from lakemerge.engine.options.reader import Declared
from lakemerge.engine.options.write import WriteConfig

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "options.md"
HEAD = """# Options

Every option that lakemerge reads, besides those that dbt reads itself. `make options` makes this page: names, values
and defaults are those of the code, and what an option does is what its guide says. A name that is almost one of these
is an error; other names are dbt's, another package's or yours.
"""
# The sections, with the guides that tell about their options, the first one first.
GUIDES: Mapping[str, tuple[str, ...]] = {
    "All tables": ("compaction", "merge"),
    "Strategy append, and ingest": ("append-tables",),
    "Strategy merge": ("merge", "merge-on-read"),
    "Histories": ("history",),
    "Ingest": ("ingest", "quarantine", "streaming"),
    "Routes of an ingest": ("routes",),
    "Arguments of consume()": ("consumer",),
    "Arguments of consume_changes()": ("incremental-marts",),
}
_ROW = re.compile(r"^\| ((?:`[\w.]+`(?:, )?)+) \|(.*)\|$")


def sections() -> Mapping[str, Mapping[str, Declared]]:
    """The options by section, each where it is read first."""
    readers = {title: IngestReader({}, []) for title in GUIDES}
    base, append, merge, history, ingest, routes, consume, changes = readers.values()
    for config, reader in (
        (WriteConfig, base),
        (AppendConfig, append),
        (MergeConfig, merge),
        (Scd2MergeConfig, history),
    ):
        config(**config._read(reader))._contradictions(reader)
    IngestOptions.read(ingest, [])
    RoutingOptions.read(routes)
    ConsumeConfig.read(consume, "")
    ConsumeConfig.read_changes(changes, "")
    found: dict[str, dict[str, Declared]] = {}
    known: set[str] = set()
    for title, reader in readers.items():
        # arguments are no options of a config, and may have the names of some
        taken = set() if reader in (consume, changes) else known
        found[title] = {
            name: one for name, one in reader.declared.items() if one.values and name not in taken
        }
        known.update(found[title])
    return found


def descriptions(guide: str) -> Mapping[str, str]:
    """What a guide says of options: the last cell of their rows, with links as of the page."""
    found: dict[str, str] = {}
    for line in (ROOT / "docs" / "guides" / f"{guide}.md").read_text().splitlines():
        if match := _ROW.match(line):
            text = re.split(r"(?<!\\)\|", match[2])[-1].strip()
            text = text.replace("](../", "](\0").replace("](#", f"]({guide}.md#")
            text = re.sub(r"\]\((?!\0|https?:)", "](guides/", text).replace("\0", "")
            for name in re.findall(r"`([\w.]+)`", match[1]):
                found.setdefault(name, text)
    return found


def page() -> str:
    """The page's text.

    Raises:
        LookupError: no guide tells of an option.
    """
    parts = [HEAD]
    for title, options in sections().items():
        said = {guide: descriptions(guide) for guide in GUIDES[title]}
        parts.append(
            f"\n## {title}\n\n| Option | Values | Default | What it does | Guide |\n|---|---|---|---|---|\n"
        )
        for name, one in sorted(options.items()):
            guide = next((guide for guide in said if name in said[guide]), None)
            if guide is None:
                raise LookupError(
                    f"expected a row for `{name}` in a table of {', '.join(said)}; found none: add it"
                )
            values = (
                one.values if isinstance(one.values, str) else ", ".join(f"`{word}`" for word in one.values)
            )
            default = f"`{one.default}`" if one.default else ""
            cells = (f"`{name}`", values, default, said[guide][name], f"[{guide}](guides/{guide}.md)")
            parts.append(f"| {' | '.join(cells)} |\n")
    return "".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page())
