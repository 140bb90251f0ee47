"""``python -m simulation --seeds 1000``: run seeds, print what was done, and show the first one that fails."""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections import Counter

from simulation.mutants import MUTANTS, install


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--show", action="store_true", help="print the schedule of each")
    parser.add_argument("--keep-going", action="store_true", help="do not stop at the first failure")
    parser.add_argument("--mutant", choices=sorted(MUTANTS), help="put a known fault into the code first")
    args = parser.parse_args()
    if args.mutant:
        install(args.mutant)
    from simulation.run import simulate

    logging.getLogger("lakemerge").setLevel(logging.CRITICAL)
    faults: Counter[str] = Counter()
    operations = commits = steps = failures = 0
    began, cpu = time.monotonic(), time.process_time()
    for seed in range(args.first, args.first + args.seeds):
        result = simulate(seed)
        faults.update(kind for _, kind in result.faults)
        operations += len(result.operations)
        commits += result.commits
        steps += result.steps
        if args.show:
            print("\n".join(result.log))
        if result.error:
            failures += 1
            print(f"seed {seed}: {result.error}")
            for operation in result.operations:
                print(f"  {operation}")
            if not args.keep_going:
                print(f"replay: python -m simulation --first {seed} --seeds 1 --show")
                break
    print(
        f"{args.seeds} seeds, {operations} operations, {commits} commits, {steps} calls, {sum(faults.values())} faults "
        f"({', '.join(f'{kind} {count}' for kind, count in sorted(faults.items()))}), {failures} failures, "
        f"{time.process_time() - cpu:.1f} CPU s, {time.monotonic() - began:.1f} s"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
