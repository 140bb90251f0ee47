"""Commits on plain Hive tables. Importable without dbt and without a Spark session."""
