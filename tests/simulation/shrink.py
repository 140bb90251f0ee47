"""A failing seed made small: what is not needed for its failure is left out, part by part."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Iterator

from simulation.plan import Cut
from simulation.run import Result, simulate

#: Other orders that are tried when a part is left out, for the rest then runs in another one.
_ORDERS = 6


def shrunk(result: Result, seconds: float = 60.0) -> Result:
    """The same failure with fewer processes, operations and faults, as far as it is found in so much time.

    The parts are tried in a fixed order, so that the outcome hangs on the clock only where the time runs out.
    """
    deadline = time.monotonic() + seconds
    smaller = True
    while smaller:
        smaller = False
        for cut in _smaller(result):
            if time.monotonic() > deadline:
                return result
            found = _fails_alike(result, cut)
            if found is not None:
                result, smaller = found, True
                break
    return result


def _smaller(result: Result) -> Iterator[Cut]:
    cut = result.cut
    for part in result.plan.parts():
        yield dataclasses.replace(cut, without=cut.without | {part})
    for fault in result.faults:
        yield dataclasses.replace(cut, faults=tuple(one for one in result.faults if one != fault))
    if cut.faults is None:
        yield dataclasses.replace(cut, faults=tuple(result.faults))


def _fails_alike(result: Result, cut: Cut) -> Result | None:
    for order in (cut.reseed, *range(_ORDERS)):
        found = simulate(result.seed, dataclasses.replace(cut, reseed=order))
        if found.error and _kind(found) == _kind(result):
            return found
    return None


def _kind(result: Result) -> str:
    return result.error.partition(":")[0]


def to_text(cut: Cut) -> str:
    """A cut as a word for the command line."""
    body = {"without": sorted(cut.without), "faults": cut.faults, "reseed": cut.reseed}
    return json.dumps(body, separators=(",", ":"))


def from_text(text: str) -> Cut:
    """The inverse of :func:`to_text`."""
    body = json.loads(text)
    faults = None if body["faults"] is None else tuple((call, kind) for call, kind in body["faults"])
    return Cut(frozenset(body["without"]), faults, body["reseed"])
