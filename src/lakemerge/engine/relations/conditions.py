"""Many conditions combined into one, in a form that Spark can read however many there are.

Spark walks an expression by recursion, and each `and` or `or` in a chain of them is one level: some 1,500 levels are
more than a thread's stack holds. Arranged as a tree, the conditions are only as deep as the logarithm of their number.
"""

from __future__ import annotations

from collections.abc import Iterable

# This many are chained without a tree; most tables have fewer.
_ROW = 16


def all_of(conditions: Iterable[str]) -> str:
    """SQL that is true where all conditions are."""
    return _tree([f"({condition})" for condition in conditions], "and") or "true"


def any_of(conditions: Iterable[str]) -> str:
    """SQL that is true where one of the conditions is."""
    return _tree([f"({condition})" for condition in conditions], "or") or "false"


def _tree(terms: list[str], word: str) -> str:
    while len(terms) > _ROW:
        rows = [terms[first : first + _ROW] for first in range(0, len(terms), _ROW)]
        terms = [f"({f' {word} '.join(row)})" for row in rows]
    return f"\n{word} ".join(terms)
