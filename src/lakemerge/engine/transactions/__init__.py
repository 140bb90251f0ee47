"""Changes of several tables by a Python program, in one commit and without a dbt run."""
