"""dbt's suite "python_model", Spark's part of it included."""

from __future__ import annotations

import pytest
from dbt.tests.adapter.python_model.test_python_model import (
    BasePythonEmptyTests,
    BasePythonIncrementalTests,
    BasePythonMetaGetTests,
    BasePythonModelTests,
    BasePythonSampleTests,
)
from dbt.tests.adapter.python_model.test_spark import (
    PANDAS_MODEL,
    PANDAS_ON_SPARK_MODEL,
    PYSPARK_MODEL,
    BasePySparkTests,
)
from dbt.tests.util import run_dbt


@pytest.mark.slow
class TestPythonModel(BasePythonModelTests):
    pass


@pytest.mark.slow
class TestPythonIncremental(BasePythonIncrementalTests):
    pass


@pytest.mark.slow
class TestPythonMetaGet(BasePythonMetaGetTests):
    pass


@pytest.mark.slow
class TestPythonEmpty(BasePythonEmptyTests):
    pass


@pytest.mark.slow
class TestPythonSample(BasePythonSampleTests):
    pass


@pytest.mark.slow
class TestPySpark(BasePySparkTests):
    # Koalas, the fourth kind of frame, went into pyspark as pandas-on-Spark and is not released any more.
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "pandas_df.py": PANDAS_MODEL,
            "pyspark_df.py": PYSPARK_MODEL,
            "pandas_on_spark_df.py": PANDAS_ON_SPARK_MODEL,
        }

    def test_different_dataframes(self, project: object) -> None:
        assert len(run_dbt(["run"])) == 3
