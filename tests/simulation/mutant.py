"""A fault that is put into the code: a piece of a module's text, and what stands in its place."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """A fault.

    Attributes:
        says: what is wrong, in a few words.
        module: where, below ``lakemerge``.
        old, new: the text, and what it becomes.
        first: the seed to begin with.
    """

    says: str
    module: str
    old: str
    new: str
    first: int = 0
