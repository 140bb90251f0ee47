"""A program with a statement over several partitions, killed in its commit.

`statement_process.py <Spark's settings> <warehouse> <schema> <kind> <step>`: dies by SIGKILL when that commit has
done the step.
"""

from __future__ import annotations

import sys

import lakemerge
from functional.concurrency.transaction_process import die_after, session

# Moves the row of p1, which is then gone; changes p2; makes p3.
STATEMENT = (
    "merge into {table} t using (select 1L as id union all select 4L) s on t.id = s.id "
    "when matched then update set part = 'p3' "
    "when not matched then insert (id, name, part) values (s.id, 'new', 'p2') "
    "when not matched by source and t.id = 3 then delete"
)
OPTIONS: dict[str, dict[str, object]] = {
    "plain": {},
    "keyed": {"unique_key": "id"},
    "merge on read": {"unique_key": "id", "write_mode": "merge_on_read"},
}


def main(conf: str, warehouse: str, schema: str, kind: str, step: str) -> None:
    spark = session(conf, warehouse)
    spark.sql(f"create database {schema}")
    table = lakemerge.table(f"{schema}.t", spark=spark)
    rows = "select * from values (1L, 'a', 'p1'), (2L, 'b', 'p2'), (3L, 'c', 'p2') as rows (id, name, part)"
    if OPTIONS[kind]:
        table.merge(rows, partition_by=["part"], **OPTIONS[kind])
    else:
        table.replace(rows, partition_by=["part"])
    die_after(step)
    lakemerge.sql(STATEMENT.format(table=f"{schema}.t"), spark=spark)


if __name__ == "__main__":
    main(*sys.argv[1:])
