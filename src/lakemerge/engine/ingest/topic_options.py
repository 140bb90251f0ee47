"""What a model's ``kafka`` says: the options of Spark's reader, some of which an ingest sets itself."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from lakemerge.engine.options.names import meant
from lakemerge.ingest.topics import Offsets, TopicRules
from lakemerge.redaction import is_secret

_SERVERS = "kafka.bootstrap.servers"
#: Options about files, which mean nothing for topics.
OF_FILES = (
    "landing",
    "ignore_names",
    "settle_seconds",
    "done_marker",
    "on_changed_file",
    "max_files",
    "max_bytes",
    "header",
    "line_delimiter",
    "skip_empty_lines",
    "unterminated_last_record",
)
# Spark's other ways to choose topics, and its end offsets, which the table's commits decide.
_REFUSED = (
    "assign",
    "subscribePattern",
    "endingOffsets",
    "endingOffsetsByTimestamp",
    "endingTimestamp",
    "startingOffsetsByTimestamp",
    "startingTimestamp",
    "includeHeaders",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
)
# Spark's number for the first offset that the broker has; -1 is the end.
_EARLIEST = -2
# A value that Kafka's client gets from one of its `config.providers`.
_INDIRECT = re.compile(r"\$\{\w+:[^}]+\}")
_INTERPRETED = ("subscribe", "startingOffsets", "maxOffsetsPerTrigger", "failOnDataLoss")


def topic_rules(given: Any, keeps_tombstones: bool, problems: list[str]) -> TopicRules | None:
    """Read the option ``kafka`` of a dbt config; ``None`` if it is not given.

    Args:
        problems: receives what is wrong with it.
    """
    if given is None:
        return None
    if not isinstance(given, Mapping):
        problems.append(f"kafka must map the options of Spark's reader to values, not {given!r}")
        return None
    names = {str(key).lower(): str(key) for key in given}
    values = {key.lower(): given[name] for key, name in names.items()}
    problems += [
        f"kafka: {name} has no meaning here" for name in _REFUSED if values.get(name.lower()) is not None
    ]
    subscribe = tuple(name.strip() for name in str(values.get("subscribe") or "").split(",") if name.strip())
    if not subscribe:
        problems.append("kafka: subscribe must name topics, separated by commas")
    if not values.get(_SERVERS):
        problems.append(f"kafka: {_SERVERS} must name brokers (host:port, separated by commas)")
    own = {name.lower() for name in (*_INTERPRETED, *_REFUSED)}
    # dbt writes a model's config to its artifacts
    problems += [
        f"kafka: {names[key]} holds a secret, which dbt would write to manifest.json. Put it into a file that "
        "java.security.auth.login.config names, or let one of Kafka's config.providers read it"
        for key, value in values.items()
        if is_secret(key) and value and not _INDIRECT.search(str(value))
    ]
    # Spark ignores names that it does not know, and so would read a topic from its beginning instead of its end
    problems += [
        f"kafka: {slip} is no option, and {meaning} is"
        for slip, meaning in meant(names.values(), _INTERPRETED).items()
        if slip.lower() not in own
    ]
    return TopicRules(
        subscribe=subscribe,
        options={names[key]: _text(value) for key, value in values.items() if key not in own},
        starting_offsets=_starting_offsets(values.get("startingoffsets"), problems),
        max_offsets=_count(values.get("maxoffsetspertrigger"), problems),
        fail_on_data_loss=_flag(values.get("failondataloss"), problems),
        keeps_tombstones=keeps_tombstones,
    )


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _starting_offsets(value: Any, problems: list[str]) -> str | Offsets:
    if value is None or str(value).lower() in ("earliest", "latest"):
        return str(value or "earliest").lower()
    try:
        body = json.loads(value) if isinstance(value, str) else value
        return {
            str(topic): {
                _whole(number, 0): _whole(offset, _EARLIEST) for number, offset in partitions.items()
            }
            for topic, partitions in body.items()
        }
    except (ValueError, TypeError, AttributeError):
        example = '{"alerts": {"0": 23, "1": -2}}'
        problems.append(
            f"kafka: startingOffsets must be earliest, latest or such as {example}, not {value!r}"
        )
        return "earliest"


def _count(value: Any, problems: list[str]) -> int:
    try:
        return 0 if value is None else _whole(value, 0)
    except ValueError:
        problems.append(f"kafka: maxOffsetsPerTrigger must be a whole number, not {value!r}")
        return 0


def _whole(value: Any, least: int) -> int:
    """A whole number, or the text of one. Raises ValueError for anything else, such as 1.7, which int() would cut."""
    number = int(value) if re.fullmatch("-?[0-9]{1,19}", str(value)) else None
    if number is None or number < least:
        raise ValueError(f"{value!r} is no whole number of at least {least}")
    return number


def _flag(value: Any, problems: list[str]) -> bool:
    text = "true" if value is None else _text(value)
    if text not in ("true", "false"):
        problems.append(f"kafka: failOnDataLoss must be true or false, not {value!r}")
    return text != "false"
