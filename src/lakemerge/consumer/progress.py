"""What a consumer has processed: the truth, which is part of the output's commits.

Each commit of a consumer leaves a folder of the kind ``consumed`` in its manifest, with one JSON file: what it has
consumed. All such folders of a manifest together, in order, say what is processed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from lakemerge.consumer.items import Item, Position
from lakemerge.kernel import Kernel, Layout, Manifest, Transaction

KIND = "consumed"
_FILE = "progress.json"

#: A source's and a consumer's name.
Key = tuple[str, str]


@dataclass(frozen=True)
class Done:
    """A partition that is processed: the content's mark, its version, and its files (see :class:`Item`)."""

    mark: str
    version: int | None = None
    files: tuple[str, ...] = ()


@dataclass(frozen=True)
class Progress:
    """How far a consumer has come.

    Attributes:
        generation: changes when the consumer is reset or its output rebuilt; progress of another one no longer counts.
        source_id: of the table that it reads.
        position: everything up to here is processed; ``None`` where the source has no versions.
        done: what is processed beyond the position, by partition.
        changes: whether it follows changes, version by version, and not partitions.
    """

    generation: str
    source_id: str
    position: Position | None = None
    done: Mapping[str, Done] = field(default_factory=dict)
    changes: bool = False

    def then(self, later: Progress) -> Progress:
        """This progress with that of a later commit."""
        if later.generation != self.generation:
            return later
        position = later.position or self.position
        if (
            self.position
            and position
            and position.version <= self.position.version
            and not self.position.initial
        ):
            position = self.position
        done = {**self.done, **later.done}
        if position and not position.initial:
            reached = position.version
            done = {name: one for name, one in done.items() if one.version is None or one.version > reached}
        return replace(later, position=position, done=done)

    def has_done(self, item: Item) -> bool:
        """Whether this very content is processed."""
        if self.has_passed(item):
            return True
        known = self.done.get(item.partition)
        return known is not None and known.mark == item.mark

    def has_passed(self, item: Item) -> bool:
        """Whether the version that wrote it is processed as a whole."""
        if self.position is None or self.position.initial or item.version is None:
            return False
        return item.version <= self.position.version

    def to_json(self, key: Key) -> dict[str, Any]:
        return {"source": key[0], "consumer": key[1], **asdict(self)}

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Progress:
        done = {
            name: Done(one["mark"], one["version"], tuple(one["files"])) for name, one in body["done"].items()
        }
        position = Position(**body["position"]) if body["position"] else None
        changes = bool(body.get("changes"))  # an earlier release knew partitions alone
        return cls(body["generation"], body["source_id"], position, done, changes)


def read_progress(kernel: Kernel, layout: Layout, manifest: Manifest | None) -> dict[Key, Progress]:
    """What a version of an output says about each consumer that writes to it."""
    found: dict[Key, Progress] = {}
    for folder in manifest.sidecars.get(KIND, ()) if manifest else ():
        for body in json.loads(kernel.files.read_text(f"{layout.absolute(folder)}/{_FILE}")):
            key = (body["source"], body["consumer"])
            progress = Progress.from_json(body)
            found[key] = found[key].then(progress) if key in found else progress
    return found


def write_progress(
    kernel: Kernel,
    transaction: Transaction,
    changes: Mapping[Key, Progress],
    *,
    forget: Iterable[Key] = (),
    fold: bool = True,
) -> None:
    """Let a transaction's commit change the progress of some consumers, or forget them.

    Args:
        fold: whether it may merge many folders into one, which conflicts with another commit that does so.
    """
    base = None if transaction.replaces_all else transaction.base
    forgotten = set(forget)
    whole = bool(forgotten) or (fold and transaction.has_many_sidecars(KIND))
    entries = dict(changes)
    if whole:
        entries = read_progress(kernel, transaction.layout, base)
        for key, progress in changes.items():
            entries[key] = entries[key].then(progress) if key in entries else progress
    bodies = [progress.to_json(key) for key, progress in entries.items() if key not in forgotten]
    directory = transaction.sidecar_directory(KIND)
    kernel.files.write_text(f"{directory}/{_FILE}", json.dumps(bodies, indent=1) + "\n")
    if whole:
        transaction.set_sidecars(KIND, [directory], keep_later=True)
    else:
        transaction.add_sidecar(KIND, directory)
