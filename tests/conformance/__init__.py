"""dbt's official suites against this adapter, or against dbt-spark on the same kind of tables.

``python -m conformance`` (``make conformance``) runs them and prints a table. The classes that run them are those of
``tests/functional/adapter``; ``registry`` names what is not run as dbt wrote it, with reasons.
"""
