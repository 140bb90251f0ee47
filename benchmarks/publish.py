"""What `publish: after_tests` costs: the same build of several masters with it, and without, in CPU seconds.

    make bench-publish

Each of five models merges the changes of 3 % of 200,000 rows in 20 partitions, and has two tests. Half of the models
are published at once, the others when the tests have passed, by one commit. The two builds take turns; the first ones
are not counted.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

from measure import Measured
from project import BenchProject

MODELS, ROWS, PARTITIONS = 5, 200_000, 20
PROJECT = """
name: bench
profile: bench
model-paths: [models]
models:
  bench:
    after_tests:
      +publish: after_tests
"""
MODEL = f"""
{{{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', sequence_by='changed_at',
          partition_by='region') }}}}
select
    id,
    changed_at,
    concat('product ', id) as name,
    cast(pmod(xxhash64(id, changed_at), 100000) / 100.0 as decimal(12, 2)) as price,
    cast(id % {PARTITIONS} as int) as region
from (
    {{%- if is_incremental() %}}
    select (id * 7919 + unix_micros(current_timestamp())) % {ROWS} as id, unix_micros(current_timestamp()) as changed_at
    from range({ROWS * 3 // 100})
    {{%- else %}}
    select id, cast(0 as bigint) as changed_at from range({ROWS})
    {{%- endif %}}
)
"""
KINDS = ("at_once", "after_tests")


def _files() -> dict[str, str]:
    files: dict[str, str] = {}
    for kind in KINDS:
        names = [f"{kind}_{number}" for number in range(MODELS)]
        files |= {f"models/{kind}/{name}.sql": MODEL for name in names}
        models = "".join(
            f"  - {{name: {name}, columns: [{{name: id, data_tests: [unique, not_null]}}]}}\n"
            for name in names
        )
        files[f"models/{kind}/models.yml"] = f"models:\n{models}"
    return files


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=6, help="builds to measure of each kind (6)")
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory(prefix="lakemerge-bench-") as folder:
        project = BenchProject(Path(folder), PROJECT, _files())
        project.start()
        taken = {kind: Measured() for kind in KINDS}
        for number in range(rounds + 4):
            for kind in KINDS if number % 2 else reversed(KINDS):
                # the first of them make the tables, and warm Java up
                with (taken[kind] if number >= 4 else Measured()).run():
                    project.dbt("build", "--select", kind)
        for kind in KINDS:
            print(f"{kind:12} {taken[kind]}")
        first, second = (statistics.median(taken[kind].cpu) for kind in KINDS)
        print(f"after tests to at once: {second / first:.2f}")


if __name__ == "__main__":
    main()
