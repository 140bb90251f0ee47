"""The record of a version that was staged and is not published: a small file for people and later runs."""

from __future__ import annotations

import json
from dataclasses import dataclass

from lakemerge.errors import CorruptTable
from lakemerge.kernel.table.manifest import Manifest


@dataclass(frozen=True)
class StagedVersion:
    """A version that a transaction would make.

    Attributes:
        manifest: as it would be if the transaction were committed on the version on which it began.
        left: why its writer has given it up, after which it can never be committed; ``None`` while it has not.
    """

    manifest: Manifest
    left: str | None = None

    def to_json(self) -> str:
        """The file's text."""
        return json.dumps({"left": self.left, "manifest": self.manifest.to_json()}, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str, source: str) -> StagedVersion:
        """Read a file. Raises CorruptTable where it is none."""
        try:
            body = json.loads(text)
            return cls(Manifest.from_json(body["manifest"], source), body["left"])
        except (ValueError, KeyError, TypeError) as error:
            raise CorruptTable(
                expected=f"a staged version in {source}",
                found=f"{type(error).__name__}: {error}",
                action="Delete the file: no version of the table needs it.",
            ) from error
