"""Secrets taken out of texts, before anybody reads them: of errors, of logs, of what a command prints."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

HIDDEN = "*****"
# dbt takes the values of such variables out of its own texts.
_DBT_SECRETS = "DBT_ENV_SECRET_"
# Settings whose values are secrets: Spark's own rule (spark.redaction.regex), and what Kafka calls its secrets.
_SECRET_NAME = re.compile(
    r"secret|password|passwd|token$|(access|account)[.]?key|jaas\.config|keystore\.key", re.IGNORECASE
)
# A shorter one may be any word: metastores with the user and the password `hive` are common.
_SHORTEST = 6

_WORDS = r"(?:password|passwd|pwd|secret|token|access_?key|accountkey|sig)"
_PATTERNS = (
    # user and password of a URL, and of Oracle's: jdbc:oracle:thin:user/password@host
    re.compile(r"(?P<before>\w:///?)(?P<secret>[^\s/?#\"'<>@]+:[^\s?#\"'<>]*)(?P<after>@)"),
    re.compile(r"(?P<before>\bjdbc:oracle:\w+:)(?P<secret>[^\s@]+)(?P<after>@)"),
    # parameters of a URL
    re.compile(rf"(?P<before>[?;&]\w*{_WORDS}=)(?P<secret>[^\s;&\"'<>]+)(?P<after>)", re.IGNORECASE),
    # JAAS
    re.compile(rf"(?P<before>\w*{_WORDS}\s*=\s*\\?\")(?P<secret>[^\"\\]+)(?P<after>\\?\")", re.IGNORECASE),
    # settings of Spark, Hive, Hadoop and Kafka
    re.compile(
        r"(?P<before>\b(?:spark|javax|fs|hive|kafka)\.[\w.]*(?:secret|password|secret\.key|access\.key|token)"
        r"['\"]?\s*[=:]\s*['\"]?)(?P<secret>[^\s,'\"}]+)(?P<after>)",
        re.IGNORECASE,
    ),
)

_known: set[str] = set()


def is_secret(setting: str) -> bool:
    """Whether a setting of this name holds a secret."""
    return bool(_SECRET_NAME.search(setting))


def holds_secret(setting: str, value: str) -> bool:
    """Whether a setting is a secret by its name, or has one in its value, such as the password of a URL."""
    return is_secret(setting) or any(_within(value))


def remember(settings: Mapping[str, str]) -> None:
    """Take the secrets among these settings out of all texts from now on, wherever they turn up."""
    for name, value in settings.items():
        found = [value] if is_secret(name) else []
        _known.update(one for one in [*found, *_within(value)] if len(one) >= _SHORTEST)


def redacted(text: str) -> str:
    """The text without secrets: those that are remembered, dbt's, and what looks like one in a URL or a setting."""
    of_dbt = [value for name, value in os.environ.items() if name.startswith(_DBT_SECRETS) and value.strip()]
    # the longest first: one may be part of another
    for secret in sorted({*_known, *of_dbt}, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    for pattern in _PATTERNS:
        text = pattern.sub(rf"\g<before>{HIDDEN}\g<after>", text)
    return text


def _within(text: str) -> Iterable[str]:
    """The secrets that a value contains, such as the password of a URL."""
    for pattern in _PATTERNS:
        for match in pattern.finditer(text):
            # of user:password only the password is one
            yield (
                re.split("[:/]", match["secret"], maxsplit=1)[-1]
                if match["after"] == "@"
                else match["secret"]
            )
