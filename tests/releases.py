"""What only some of the supported releases of Spark have."""

from __future__ import annotations

import pytest

from lakemerge.engine.spark.releases import is_spark_3


def needs_spark_4(what: str) -> pytest.MarkDecorator:
    """Skips tests on Spark 3.5.

    Args:
        what: the thing of Spark's that it lacks.
    """
    return pytest.mark.skipif(is_spark_3(), reason=f"Spark 3.5 has no {what}")
