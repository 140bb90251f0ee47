"""Partition a table by a new column: the product master by price band instead of category."""

from pyspark.sql import functions as F

# Upper limits in US dollars, each exclusive.
BANDS = ((100, "under 100"), (500, "100 to 500"), (1000, "500 to 1000"))


def model(dbt, session):
    """Return the products with their price band, the column that the table is partitioned by."""
    dbt.config(materialized="table", partition_by=["price_band"], file_format="orc")

    price = F.col("price")
    price_band = F.when(price.isNull(), F.lit("no price"))
    for limit, name in BANDS:
        price_band = price_band.when(price < limit, F.lit(name))
    return dbt.ref("product_master").withColumn("price_band", price_band.otherwise("1000 and over"))
