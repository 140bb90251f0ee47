"""Compact a table of many small files: the same rows in as few files as their number asks for."""

from math import ceil


def model(dbt, session):
    """Return the rows of the log in files of about `rows_per_file` rows each."""
    dbt.config(materialized="table", file_format="orc")
    rows_per_file = dbt.config.get("rows_per_file")

    log = dbt.ref("product_change_log")
    files = max(1, ceil(log.count() / rows_per_file))
    # Rows of one product lie together, sorted: ORC then packs them well, and a reader that looks
    # for a product skips most of the stripes by their minimum and maximum.
    return log.repartitionByRange(files, "product_id").sortWithinPartitions("product_id", "ts")
