"""What a Python program has in the place of a dbt run: sessions of its Spark application, and the packaged macros."""
