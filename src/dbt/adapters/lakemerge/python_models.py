"""Run Python models in the node's own session and thread."""

from __future__ import annotations

import linecache
import traceback
from collections.abc import Callable
from types import CodeType
from typing import TYPE_CHECKING, Any

from dbt.adapters.base import PythonJobHelper
from dbt.adapters.contracts.connection import Credentials
from dbt.adapters.lakemerge.cursor import ConnectionHandle
from dbt_common.exceptions import DbtRuntimeError

from lakemerge.engine.spark.deep_queries import too_deep
from lakemerge.engine.spark.small_frames import arrow_frame
from lakemerge.engine.spark.sql_settings import require_own_sql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class UnsupportedFrame(DbtRuntimeError):
    """A Python model returned something other than a frame."""


class PythonModelFailed(DbtRuntimeError):
    """A Python model raised an error; the text has the model's own lines."""


class SessionPythonJob(PythonJobHelper):
    """Runs one model's compiled code and leaves the frame that it returns in the handle.

    Args:
        parsed_model: dbt's node.
        credentials: not needed; dbt passes them.
        handle_of_thread: gives the handle of the connection of the calling thread.
    """

    def __init__(
        self,
        parsed_model: dict[str, Any],
        credentials: Credentials,
        *,
        handle_of_thread: Callable[[], ConnectionHandle],
    ) -> None:
        self._model = parsed_model
        self._handle_of_thread = handle_of_thread

    def submit(self, compiled_code: str) -> None:
        """Run the code; ``handle.python_result`` is then the model's DataFrame, not yet computed.

        Raises:
            PythonModelFailed: the code raised an error.
            InvalidConfig: see :func:`require_own_sql`.
            UnsupportedFrame: it returned something else.
        """
        handle = self._handle_of_thread()
        handle.raise_if_cancelled()
        handle.describe_jobs(str(self._model.get("unique_id", handle.name)))
        session = handle.spark
        file_name = str(self._model.get("original_file_path") or "python model")
        # each model gets its own dict, so the next one sees none of its names
        namespace = {"__name__": "dbt_python_model", "spark": session, "session": session}
        try:
            exec(_compile(compiled_code, file_name), namespace)
            result = namespace["model"](namespace["dbtObj"](session.table), session)  # type: ignore[operator]
        except Exception as error:
            raise PythonModelFailed(_model_traceback(error, file_name)) from error
        require_own_sql(session)
        handle.python_result = frame_of(result, session)


def frame_of(result: object, spark: SparkSession) -> DataFrame:
    """The pyspark DataFrame for what a model returned: pyspark's, pandas' or pandas-on-Spark's.

    A frame of pandas-on-Spark belongs to the application's first session, not to ``spark``: write
    it with its own writer rather than by a temporary view.

    Raises:
        UnsupportedFrame: it is none of these.
    """
    import pandas
    from pyspark.sql import DataFrame

    if isinstance(result, DataFrame):
        return result
    if isinstance(result, pandas.DataFrame):
        return _frame_of_pandas(result, spark)
    # by name: importing pyspark.pandas takes a second, and every model would pay for it
    if type(result).__module__.startswith("pyspark.pandas") and hasattr(result, "to_spark"):
        frame: DataFrame = result.to_spark()
        return frame
    raise UnsupportedFrame(
        "Expected a Python model to return a pyspark, pandas or pandas-on-Spark DataFrame; "
        f"found {type(result).__module__}.{type(result).__qualname__}. "
        "Return one of these from the function `model`."
    )


def _frame_of_pandas(frame: Any, spark: SparkSession) -> DataFrame:
    import pyarrow

    try:
        # through Arrow: types come from the frame, not from its first rows, and NaN becomes null
        table = pyarrow.Table.from_pandas(frame, preserve_index=False)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError) as error:
        raise UnsupportedFrame(
            f"Expected a pandas DataFrame with one type a column; found {'; '.join(map(str, error.args))}. "
            "Give the column one type, with astype() for instance."
        ) from error
    return arrow_frame(spark, table)


def _compile(code: str, file_name: str) -> CodeType:
    # lets tracebacks quote the model's lines; None as time keeps linecache from dropping them
    linecache.cache[file_name] = (len(code), None, code.splitlines(keepends=True), file_name)
    return compile(code, file_name, "exec")


def _model_traceback(error: Exception, file_name: str) -> str:
    """The error and the lines of the model it came through, without those of dbt, Spark and lakemerge."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file_name]
    lines = ["Python model failed:", *"".join(traceback.format_list(frames)).splitlines()]
    lines += "".join(traceback.format_exception_only(error)).splitlines()
    deep = too_deep(error)
    return "\n".join([*lines, f"{type(deep).__name__}: {deep}"] if deep else lines)
