"""How a kernel behaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Policy = Literal["adopt", "fail"]


@dataclass(frozen=True)
class Settings:
    """How a kernel behaves.

    Attributes:
        lease_seconds: a writer without a sign of life for this long is taken for dead.
        claim_timeout: seconds to wait for a live writer to finish before giving up.
        on_foreign_write: take in what other programs wrote, or refuse to go on.
        writer: who writes, for the manifests: names and values of any kind.
    """

    lease_seconds: int = 30
    claim_timeout: float = 600.0
    on_foreign_write: Policy = "adopt"
    writer: Mapping[str, str] = field(default_factory=dict)
