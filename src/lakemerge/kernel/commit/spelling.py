"""The case of columns' names in a commit: see :mod:`lakemerge.kernel.table.spark_schema`."""

from __future__ import annotations

from collections.abc import Mapping

from lakemerge.kernel.commit.transaction import Transaction
from lakemerge.kernel.table.spark_schema import schema_parameters, spelling_in


def set_spelling(transaction: Transaction, spelling: Mapping[str, str]) -> None:
    """Let Spark show the columns that the table will have by other names; call it after :meth:`Transaction.set_schema`.

    Args:
        spelling: the names, which differ in case alone, by those in lower case; other columns are in lower case.
    """
    schema = transaction._commit.schema
    transaction.set_parameters(schema_parameters(schema.columns, schema.partition_columns, spelling))


def new_spelling(transaction: Transaction) -> Mapping[str, str]:
    """The names that a commit has Spark show, by their names in lower case; none where it changes none."""
    definition = transaction._commit.definition
    return definition.spelling if definition else spelling_in(transaction._commit.parameters)
