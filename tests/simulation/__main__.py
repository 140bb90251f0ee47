"""``python -m simulation --seeds 1000``: run seeds, print what was done, and show the first one that fails, shrunk."""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING

from simulation.mutants import MUTANTS, install

if TYPE_CHECKING:
    from simulation.run import Result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--show", action="store_true", help="print the schedule of each")
    parser.add_argument("--keep-going", action="store_true", help="do not stop at the first failure")
    parser.add_argument("--shrink", type=float, default=60.0, help="seconds for making a failing seed small")
    parser.add_argument("--cut", help="replay a seed that was made small")
    parser.add_argument("--mutant", choices=sorted(MUTANTS), help="put a known fault into the code first")
    args = parser.parse_args()
    if args.mutant:
        install(args.mutant)
    from simulation.run import simulate
    from simulation.shrink import from_text, shrunk, to_text

    logging.getLogger("lakemerge").setLevel(logging.CRITICAL)
    cut = from_text(args.cut or '{"without":[],"faults":null,"reseed":0}')
    faults: Counter[str] = Counter()
    seeds = operations = acts = commits = steps = failures = beyond = 0
    began, cpu = time.monotonic(), time.process_time()
    for seed in range(args.first, args.first + args.seeds):
        result = simulate(seed, cut)
        seeds += 1
        faults.update(kind for _, kind in result.faults)
        operations += len(result.operations)
        acts += result.acts
        commits += result.commits
        steps += result.steps
        beyond += result.beyond
        if args.show:
            print("\n".join(result.log))
        if result.error:
            failures += 1
            print(f"seed {seed}: {result.error}")
            if not args.keep_going:
                if args.shrink and not args.cut:
                    result = shrunk(result, args.shrink)
                _show(result, to_text(result.cut), with_log=not args.show)
                break
    print(
        f"{seeds} seeds, {operations} operations, {acts} acts of other programs, {commits} commits, {steps} calls, "
        f"{sum(faults.values())} faults "
        f"({', '.join(f'{kind} {count}' for kind, count in sorted(faults.items()))}), {failures} failures, "
        f"{beyond} where the promises end, "
        f"{time.process_time() - cpu:.1f} CPU s, {time.monotonic() - began:.1f} s"
    )
    return 1 if failures else 0


def _show(result: Result, cut: str, *, with_log: bool) -> None:
    """The schedule of a failing run, what its processes did, and how to run it again."""
    if with_log:
        print("\n".join(result.log))
    print(f"shrunk: {result.error}")
    for actor in result.plan.actors:
        print(f"  {actor.name}: {', '.join(label for _, label in actor.acts)}")
    for operation in result.operations:
        print(f"  {operation}")
    for call, kind in result.faults:
        print(f"  at call {call}: {kind}")
    print(f"replay: make simulate FIRST={result.seed} SEEDS=1 CUT='{cut}'")


if __name__ == "__main__":
    sys.exit(main())
