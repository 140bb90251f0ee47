"""What a theme is; see :mod:`simulation.themes`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

#: What writers do with a table of each kind, each with how often it is drawn.
EVERYTHING: Mapping[str, Mapping[str, int]] = {
    "partitioned": {"merge": 64, "rewrite": 10, "replace": 8, "recover": 6, "overwrite": 6, "pack": 6},
    "whole": {"merge": 64, "replace": 18, "overwrite": 12, "pack": 6},
    "append": {"append": 78, "compact": 18, "pack": 4},
}


@dataclass(frozen=True)
class Theme:
    """What the runs of a theme have; a number is how likely a run has it.

    Attributes:
        weight: how often it is drawn.
        kinds: of tables; each as often as it is named.
        work: what writers do, in the place of :data:`EVERYTHING`; of the kinds of tables that it names.
        writers: how many.
        several: how many operations of each.
        keys: how many keys there are to change.
        consumed, streams, upkeep, strangers, tears, batches: whether there are consumers, named streams, vacuum and
            recovery beside the writers, programs that are not ours, half-seen rows, and answers in batches.
        lands: whether files land in a folder, to be ingested.
        acts: what those programs do; empty for a mix.
        retention: how long vacuum leaves what nobody refers to, in seconds.
        faults: which there are, each with how often it is drawn; empty for a mix.
        calls: that meet them; empty for a mix.
        most: how many of them.
        adopts: whether another program makes the table first.
        upkeeps: how many vacuums and recoveries there are beside the writers.
        names: of the writers of named streams; one that comes twice has two processes.
        batches_each: how many batches each of them has.
        refuses: whether the metastore refuses what has :data:`REFUSED` in it, for the whole run.
        reads_late: whether readers begin as late as upkeep may.
        folders: whether directories may have times, as those of disks and of object stores.
        refuses_calls: the metastore refuses one of these from some moment on, until it is corrected; empty for none.
        cuts: the answers to one of these calls never arrive, though they are carried out; empty for none.
        operators: whether somebody ends what is refused, before that is corrected.
        compares: whether the metastore compares.
        judges_late: whether what readers find is judged while something is astray that came late.
        readers: how many, and how often each of them reads.
        changes: whether consumers follow changes, of a table of any kind, and not partitions.
    """

    weight: int
    kinds: tuple[str, ...] = ("partitioned", "partitioned", "whole", "append", "append")
    work: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    writers: tuple[int, ...] = (2, 2, 3)
    several: tuple[int, ...] = (1, 2, 3)
    keys: int = 5
    consumed: float = 0.5
    streams: float = 0.5
    upkeep: float = 0.4
    strangers: float = 0.3
    tears: float = 0.3
    batches: float = 0.3
    lands: bool = False
    acts: tuple[str, ...] = ()
    retention: float = 600.0
    faults: Mapping[str, int] = field(default_factory=dict)
    calls: tuple[str, ...] = ()
    most: tuple[int, ...] = (0, 1, 1, 2, 3, 5)
    adopts: float = 0.2
    upkeeps: tuple[int, ...] = (1, 1, 2)
    names: tuple[str, ...] = ("one", "two")
    batches_each: int = 3
    refuses: bool = False
    reads_late: bool = False
    folders: bool = False
    refuses_calls: tuple[str, ...] = ()
    cuts: tuple[str, ...] = ()
    operators: bool = False
    compares: float = 0.9
    judges_late: bool = False
    readers: tuple[int, ...] = (0, 1, 2)
    reads_each: int = 2
    changes: bool = False

    def work_of(self, kind: str) -> Mapping[str, int]:
        """What writers do with a table of a kind."""
        return self.work.get(kind, EVERYTHING[kind])


def either(work: Mapping[str, int]) -> Mapping[str, Mapping[str, int]]:
    """The same work on partitioned tables and others."""
    return {"partitioned": work, "whole": work}
