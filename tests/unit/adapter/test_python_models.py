from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pandas
import pytest
from dbt.adapters.lakemerge.python_models import (
    PythonModelFailed,
    SessionPythonJob,
    UnsupportedFrame,
    frame_of,
)

pytestmark = pytest.mark.usefixtures("spark_4")

# What dbt puts below a model's own code.
POSTFIX = """
class dbtObj:
    def __init__(self, load):
        self.ref = load
"""


class FakeSession:
    def __init__(self) -> None:
        self.created: list[Any] = []
        self.conf: dict[str, str] = {}

    def table(self, name: str) -> str:
        return f"frame of {name}"

    def createDataFrame(self, data: Any) -> Any:  # noqa: N802 - Spark's name
        self.created.append(data)
        return data


def submit(code: str) -> tuple[SimpleNamespace, FakeSession]:
    session = FakeSession()
    handle: Any = SimpleNamespace(
        spark=session,
        name="m",
        python_result=None,
        raise_if_cancelled=lambda: None,
        describe_jobs=lambda _: None,
    )
    model = {"unique_id": "model.test.m", "original_file_path": "models/m.py"}
    credentials: Any = None
    SessionPythonJob(model, credentials, handle_of_thread=lambda: handle).submit(code + POSTFIX)
    return handle, session


PANDAS = """
import pandas

def model(dbt, session):
    assert session is spark
    return pandas.DataFrame({"id": [1, 2], "text": ["a", None], "number": [1.5, float("nan")]})
"""


def test_a_pandas_frame_goes_by_arrow_with_nulls() -> None:
    handle, session = submit(PANDAS)
    (table,) = session.created
    assert handle.python_result is table
    assert table.to_pydict() == {"id": [1, 2], "text": ["a", None], "number": [1.5, None]}


def test_a_failing_model_shows_its_own_lines() -> None:
    code = "def helper():\n    return 1 / 0  # here\n\ndef model(dbt, session):\n    return helper()\n"
    with pytest.raises(PythonModelFailed) as error:
        submit(code)
    text = error.value.msg
    assert 'File "models/m.py", line 5, in model' in text
    assert "return 1 / 0  # here" in text
    assert text.endswith("ZeroDivisionError: division by zero")
    assert "python_models.py" not in text


def test_a_model_without_the_function_is_a_failing_model() -> None:
    with pytest.raises(PythonModelFailed, match="KeyError: 'model'"):
        submit("x = 1\n")


def test_models_do_not_see_each_other() -> None:
    submit(PANDAS + "\nleft_behind = 1\n")
    with pytest.raises(PythonModelFailed, match="NameError"):
        submit("def model(dbt, session):\n    return left_behind\n")


@pytest.mark.parametrize("result", [None, 1, [1], {"a": 1}])
def test_what_is_no_frame_is_refused(result: object) -> None:
    with pytest.raises(UnsupportedFrame, match=type(result).__name__):
        frame_of(result, None)  # type: ignore[arg-type]


def test_a_column_of_mixed_types_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedFrame, match="column mixed"):
        frame_of(pandas.DataFrame({"mixed": [1, "a"]}), FakeSession())  # type: ignore[arg-type]
