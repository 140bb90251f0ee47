"""Histories of lists that transactions append to, and what must not be in them.

What a list holds tells the order of its writers: each element is appended once, so a read of a list says whose versions
came before it. From that follow the dependencies between transactions, and a cycle of them is an anomaly. The names are
Adya's (Generalized Isolation Level Definitions, 2000), the method is Elle's (Kingsbury and Alvaro, 2020).
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

#: A list: of which table, and under which key.
Key = tuple[str, str]
Elements = tuple[str, ...]


class Anomaly(AssertionError):
    """What no serial order of the transactions explains."""


@dataclass
class Observed:
    """A transaction as its process saw it, or something that only read.

    Attributes:
        appends: what it appended to each list, in order.
        reads: what it found in each list, before it appended.
        outcome: ``committed``, ``aborted``, or ``unknown``.
        pinned: whether it read several tables as of one moment.
        after: labels of transactions that it must have seen, as far as it read what they appended to.
    """

    label: str
    appends: dict[Key, Elements] = field(default_factory=dict)
    reads: dict[Key, Elements] = field(default_factory=dict)
    outcome: str = "unknown"
    pinned: bool = False
    after: frozenset[str] = frozenset()


def check(history: Iterable[Observed], final: Mapping[Key, Elements]) -> None:
    """Hold a history against the final lists. Raises Anomaly.

    Args:
        final: every list as it was in the end; of a table that was dropped, as it was by then.
    """
    done = list(history)
    writers = _writers(done)
    for key, elements in final.items():
        _check_list(key, elements, writers)
    stands = [one for one in done if one.outcome == "committed" or _appears(one, final)]
    _check_whole(done, final)
    for one in stands:
        _check_reads(one, final, writers)
    _check_seen(stands)
    _check_cycles(stands, final, writers)


def _writers(done: Iterable[Observed]) -> dict[str, Observed]:
    return {element: one for one in done for elements in one.appends.values() for element in elements}


def _appears(one: Observed, final: Mapping[Key, Elements]) -> bool:
    return any(set(elements) & set(final.get(key, ())) for key, elements in one.appends.items())


def _check_list(key: Key, elements: Elements, writers: Mapping[str, Observed]) -> None:
    if len(set(elements)) < len(elements):
        raise Anomaly(f"{key} has an element twice: {elements}")
    for element in elements:
        if element not in writers:
            raise Anomaly(f"{key} has {element}, which nobody appended")
        if writers[element].outcome == "aborted":
            raise Anomaly(f"G1a, aborted read: {key} has {element} of {writers[element].label}, which failed")


def _check_whole(done: Iterable[Observed], final: Mapping[Key, Elements]) -> None:
    """Of each transaction all is there, or nothing."""
    for one in done:
        there = [key for key, elements in one.appends.items() if _contains(final.get(key, ()), elements)]
        if one.outcome == "committed" and len(there) < len(one.appends):
            raise Anomaly(f"{one.label} was acknowledged, and only {there} of {list(one.appends)} have it")
        if _appears(one, final) and len(there) < len(one.appends):
            raise Anomaly(f"{one.label} is there in part: only {there} of {list(one.appends)} have it")


def _contains(elements: Elements, part: Elements) -> bool:
    """Whether a list has these elements, beside each other and in this order."""
    if not part:
        return True
    if part[0] not in elements:
        return False
    start = elements.index(part[0])
    return elements[start : start + len(part)] == part


def _check_reads(one: Observed, final: Mapping[Key, Elements], writers: Mapping[str, Observed]) -> None:
    for key, found in one.reads.items():
        for element in found:
            if element in writers and writers[element].outcome == "aborted":
                raise Anomaly(f"G1a, aborted read: {one.label} read {element} of {writers[element].label}")
        if found != final.get(key, ())[: len(found)]:
            raise Anomaly(f"{one.label} read {found} of {key}, which is {final.get(key, ())} in the end")
        if found and found[-1] != writers[found[-1]].appends[key][-1]:
            raise Anomaly(f"G1b, intermediate read: {one.label} read {key} up to {found[-1]}")


def _check_seen(stands: Iterable[Observed]) -> None:
    """Who reads several tables as of one moment sees what was acknowledged before."""
    by_label = {one.label: one for one in stands}
    for one in by_label.values():
        for earlier in (by_label[label] for label in one.after if label in by_label):
            for key, elements in earlier.appends.items():
                if key in one.reads and not _contains(one.reads[key], elements):
                    raise Anomaly(
                        f"stale read: {one.label} began after {earlier.label} and lacks it in {key}"
                    )


# -- dependencies ------------------------------------------------------------------------------


def _check_cycles(
    stands: list[Observed], final: Mapping[Key, Elements], writers: Mapping[str, Observed]
) -> None:
    """No cycle of dependencies, of the weakest kinds first, so that one has the name that tells most."""
    edges = list(_edges(stands, final, writers))
    for kinds, name in (({"ww"}, "G0, write cycle"), ({"ww", "wr"}, "G1c, circular information flow")):
        _check_acyclic(name, [edge for edge in edges if edge[1] in kinds])
    _check_acyclic("G-single or G2 (lost update, read skew, write skew)", edges)


#: Who, how, and on whom the other depends: ``wr`` is read by, ``ww`` is followed by, ``rw`` was read before.
Edge = tuple[str, str, str]


def _edges(
    stands: list[Observed], final: Mapping[Key, Elements], writers: Mapping[str, Observed]
) -> Iterator[Edge]:
    for elements in final.values():
        for before, after in itertools.pairwise(elements):
            yield writers[before].label, "ww", writers[after].label
    for one in stands:
        for key, found in one.reads.items():
            if found:
                yield writers[found[-1]].label, "wr", one.label
            rest = final.get(key, ())[len(found) :]
            if rest:
                yield one.label, "rw", writers[rest[0]].label


def _check_acyclic(name: str, edges: Iterable[Edge]) -> None:
    following: dict[str, dict[str, str]] = defaultdict(dict)
    for one, kind, other in edges:
        if one != other:
            following[one].setdefault(other, kind)
    done: set[str] = set()
    for start in sorted(following):
        path: list[str] = []
        cycle = _cycle_from(start, following, done, path)
        if cycle:
            steps = " ".join(f"{one} -{following[one][two]}->" for one, two in itertools.pairwise(cycle))
            raise Anomaly(f"{name}: {steps} {cycle[-1]}")


def _cycle_from(
    one: str, following: Mapping[str, Mapping[str, str]], done: set[str], path: list[str]
) -> list[str]:
    if one in path:
        return [*path[path.index(one) :], one]
    if one in done:
        return []
    path.append(one)
    for other in sorted(following.get(one, ())):
        cycle = _cycle_from(other, following, done, path)
        if cycle:
            return cycle
    path.pop()
    done.add(one)
    return []
