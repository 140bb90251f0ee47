"""What a Python program has instead of a dbt run: sessions of its Spark application, and the packaged macros."""
