import lakemerge


def model(dbt, session):
    dbt.config(materialized="incremental", incremental_strategy="append", append_layout="commit_partitioned")
    tables, own = f"{dbt.this.schema}.*", f"{dbt.this.schema}.{dbt.this.identifier}"
    needed = lakemerge.compact(tables, spark=session, exclude=[own], dry_run=True)
    done = lakemerge.compact(tables, spark=session, exclude=[own])
    return session.createDataFrame(needed + done, lakemerge.COMPACT_SCHEMA)
