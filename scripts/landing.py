"""Put a file into a landing folder, as a careful program delivers it."""

from __future__ import annotations

from pathlib import Path


def deliver(path: Path, text: str) -> None:
    """Write a file so that a reader that lists the folder meanwhile does not find half of it.

    Spark and lakemerge skip names that begin with an underscore, and the rename is one step.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"_{path.name}")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
