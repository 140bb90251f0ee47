"""What a model says about the partitions or changes it consumes, checked before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from lakemerge.consumer import Options
from lakemerge.engine.options.reader import OptionReader


@dataclass(frozen=True)
class ChangedRows:
    """How changes are shown; see :class:`Versions`."""

    key: tuple[str, ...] = ()
    net: bool = False
    preimages: bool = True


@dataclass(frozen=True)
class ConsumeConfig:
    """The arguments of ``consume`` and ``consume_changes``.

    Attributes:
        consumer: its name; the model's if none is given.
        ready: SQL over the partition columns that is true for partitions that may be consumed now.
        changes: how changes are shown; ``None`` of a consumer that takes partitions.
    """

    consumer: str
    ready: str
    options: Options
    changes: ChangedRows | None = None

    @classmethod
    def of(cls, given: Mapping[str, Any], model_name: str, *, changes: bool = False) -> ConsumeConfig:
        """Read the arguments.

        Args:
            changes: whether they are those of ``consume_changes``.

        Raises:
            InvalidConfig: some are wrong; the message names them all.
        """
        problems: list[str] = []
        reader = OptionReader({key: value for key, value in given.items() if value is not None}, problems)
        config = cls.read_changes(reader, model_name) if changes else cls.read(reader, model_name)
        reader.refuse_others()
        what = "consume_changes" if changes else "consume"
        reader.require_sound(f"valid arguments of {what}", "Correct them in the model.")
        return config

    @classmethod
    def read(cls, reader: OptionReader, model_name: str) -> ConsumeConfig:
        """Read the arguments one by one."""
        options = Options(
            limit=reader.count("limit", 0) or None,
            max_bytes=reader.size("max_bytes", 0) or None,
            timeout=reader.duration("timeout", timedelta(hours=12)),
            max_retries=reader.count("max_retries", 3, least=0),
            on_rewrite=reader.choice("on_rewrite", "reprocess", "append_only", "ignore"),  # type: ignore[arg-type]
            pin=reader.duration("pin", timedelta(days=7)),
            where=reader.text("where"),
        )
        return cls(reader.text("consumer") or model_name, reader.text("ready"), options)

    @classmethod
    def read_changes(cls, reader: OptionReader, model_name: str) -> ConsumeConfig:
        """Read the arguments of ``consume_changes`` one by one."""
        begin = reader.count("from_version", -1, least=0)
        options = Options(
            limit=reader.count("limit", 0) or None,
            max_bytes=reader.size("max_bytes", 0) or None,
            timeout=reader.duration("timeout", timedelta(hours=12)),
            pin=reader.duration("pin", timedelta(days=7)),
            changes=True,
            from_version=begin if begin >= 0 else None,
        )
        rows = ChangedRows(
            key=reader.names("key"), net=reader.flag("net", False), preimages=reader.flag("preimages", True)
        )
        return cls(reader.text("consumer") or model_name, "", options, rows)
