"""moto's server, which refuses requests and takes its time if a file says so. Runs by the Python that has moto.

Arguments: port, file. The file has two numbers: of so many requests one is refused, as by an S3 that is asked too often
(0: none, 1: each), and the seconds that each takes.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from moto.server import DomainDispatcherApplication, create_backend_app  # type: ignore[import-not-found]
from werkzeug.serving import run_simple  # type: ignore[import-not-found]

_REFUSAL = b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"


class WithFaults:
    """The store, behind what the file says."""

    def __init__(self, store: Any, faults: Path) -> None:
        self._store = store
        self._faults = faults
        self._requests = itertools.count(1)

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        every, seconds = self._faults.read_text().split()
        time.sleep(float(seconds))
        if int(every) and next(self._requests) % int(every) == 0:
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            start_response("503 Slow Down", [("Content-Type", "application/xml")])
            return [_REFUSAL]
        answer: Iterable[bytes] = self._store(environ, start_response)
        return answer


def main() -> None:
    port, faults = int(sys.argv[1]), Path(sys.argv[2])
    store = DomainDispatcherApplication(create_backend_app)
    run_simple("127.0.0.1", port, WithFaults(store, faults), threaded=True)


if __name__ == "__main__":
    main()
