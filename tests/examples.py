"""How many examples the property tests of the slow ring take; `make test-all EXAMPLES=60` for ten times as many."""

from __future__ import annotations

import os

OFTEN = int(os.environ.get("EXAMPLES", "6"))
