"""What lakemerge does with Spark: merges, histories, ingest, compaction. It needs no dbt; dbt is one door to it."""
