"""The integration tests of other people's dbt packages, on this adapter and on dbt-spark.

``python -m packages`` (``make packages``) runs them and prints a table. The packages are those of ``hub/packages.yml``,
which ``dbt deps`` fetches, or a folder of clones. ``registry`` says what is run, what has to be set for it, and why a
node is wrong. A package without tests in its release has a project of ours here.
"""
