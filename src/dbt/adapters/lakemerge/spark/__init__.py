"""Spark as dbt's connections use it: its start, sessions, statements, and what became of them."""
