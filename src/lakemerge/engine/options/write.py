"""What a model's config says about writing its table, checked before anything runs.

Each capability has a class of its own with the options that it adds: a merge, a history, a table of the append kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from lakemerge.compaction_thresholds import FILE_BYTES
from lakemerge.engine.options.formats import format_of
from lakemerge.engine.options.groups import GROUPS
from lakemerge.engine.options.reader import OptionReader
from lakemerge.errors import InvalidConfig
from lakemerge.kernel import COMMIT_COLUMN_TYPE, HiveColumn, Manifest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

C = TypeVar("C", bound="WriteConfig")

# dbt's options that macros read, or that only some of the strategies have.
_OF_MACROS = ("incremental_strategy", "unique_key", "stored_as_scd_type")


@dataclass(frozen=True)
class WriteConfig:
    """How a model's rows reach its table, whatever the strategy; names are dbt's.

    Attributes:
        column_list, except_column_list: which of the model's columns reach the table; empty for all.
        target_file_size: about how many bytes a data file should have.
        max_attempts: how often the work is tried when other commits overtake it.
        compaction: whether a commit is followed by a compaction, where it is due: ``auto`` or ``off``.
        compact_max_bytes: the most bytes of small files that such a compaction writes again.
        names_format: whether the model's config names ``file_format``.
        reader_compatibility: who reads what is written: ``hive2``, ``hive3``, ``hive4``, or ``current`` readers.
        publish: when readers get the rows: ``at_once``, or ``after_tests``: at the end of a run without failures.
        groups: the groups of options (:data:`GROUPS`) that apply here.
        changed_by: how programs may change the table without its model, ``merge`` or ``append``; empty for not at all.
        rules: the options that such programs follow.
        to_change_layout: what people do to give a table other partition columns or another format.
    """

    groups: ClassVar[frozenset[str]] = frozenset()
    changed_by: ClassVar[str] = ""
    rules: ClassVar[tuple[str, ...]] = (
        "on_foreign_write",
        "target_file_size",
        "compaction",
        "compact_max_bytes",
        "reader_compatibility",
    )

    to_change_layout: ClassVar[str] = "run its model with --full-refresh"

    partition_by: tuple[str, ...] = ()
    column_list: tuple[str, ...] = ()
    except_column_list: tuple[str, ...] = ()
    file_format: str = "orc"
    names_format: bool = False
    on_schema_change: str = "ignore"
    on_foreign_write: str = "adopt"
    location_root: str = ""
    target_file_size: int = FILE_BYTES
    max_attempts: int = 10
    compaction: str = "auto"
    compact_max_bytes: int = 2**30
    tblproperties: Mapping[str, str] = field(default_factory=dict)
    reader_compatibility: str = "current"
    publish: str = "at_once"

    @classmethod
    def of(cls: type[C], config: Mapping[str, Any], *, strict: bool = False) -> C:
        """Read a dbt config, or (``strict``) options among which are none of others.

        Raises:
            InvalidConfig: some options are wrong; the message names them all.
        """
        problems: list[str] = []
        reader = OptionReader(config, problems)
        result = cls(**cls._read(reader))
        problems += cls._misplaced(reader)
        problems += result._contradictions(reader)
        reader.check_names(also=_OF_MACROS)
        if strict:
            reader.refuse_others()
        reader.require_sound()
        return result

    @classmethod
    def _read(cls, reader: OptionReader) -> dict[str, Any]:
        """The values of the fields."""
        return {
            "partition_by": reader.names("partition_by"),
            "column_list": reader.names("column_list"),
            "except_column_list": reader.names("except_column_list"),
            "file_format": cls._read_format(reader),
            "names_format": bool(reader.given(["file_format"])),
            "on_schema_change": reader.choice(
                "on_schema_change", "ignore", "append_new_columns", "sync_all_columns", "fail"
            ),
            "on_foreign_write": reader.choice("on_foreign_write", "adopt", "fail"),
            "location_root": reader.text("location_root"),
            "target_file_size": reader.size("target_file_size", cls.target_file_size),
            "max_attempts": reader.count("max_attempts", cls.max_attempts),
            "compaction": reader.choice("compaction", "auto", "off"),
            "compact_max_bytes": reader.size("compact_max_bytes", cls.compact_max_bytes),
            "tblproperties": reader.texts("tblproperties"),
            "reader_compatibility": reader.choice(
                "reader_compatibility", "current", "hive4", "hive3", "hive2"
            ),
            "publish": reader.choice("publish", "at_once", "after_tests"),
        }

    @staticmethod
    def _read_format(reader: OptionReader) -> str:
        found, problem = format_of(
            reader.value("file_format", ("orc", "parquet"), "orc"), reader.value("options")
        )
        if problem:
            reader.problem(problem)
        return found

    @classmethod
    def _misplaced(cls, reader: OptionReader) -> list[str]:
        """The problems of options for capabilities that the model does not use."""
        found: list[str] = []
        for name, group in GROUPS.items():
            if name not in cls.groups:
                found += reader.misplaced(group)
        if "commits" not in cls.groups and reader.value("append_layout") == "commit_partitioned":
            found.append("append_layout 'commit_partitioned' goes with incremental_strategy 'append' only")
        return found

    def _contradictions(self, reader: OptionReader) -> list[str]:
        """The problems of values that do not fit together."""
        problems = []
        if catalog := reader.given(["catalog_name"]):
            problems.append(
                f"{catalog[0]} is {reader.value('catalog_name')!r}, and lakemerge has no catalogs"
            )
        if self.column_list and self.except_column_list:
            problems.append("column_list and except_column_list exclude each other")
        return problems

    @property
    def recorded(self) -> dict[str, Any]:
        """The options of :attr:`rules` that do not have the default, for JSON; :meth:`of` reads them again."""
        defaults = {option.name: option.default for option in fields(self)}
        values = {name: getattr(self, name) for name in self.rules}
        return {name: _plain(value) for name, value in values.items() if value != defaults[name]}

    @property
    def publishes_after_tests(self) -> bool:
        """Whether a run stages the rows, and publishes them at its end."""
        return self.publish == "after_tests"

    # -- effects on the table --------------------------------------------------------------------

    @property
    def reads_a_feed(self) -> bool:
        """Whether the model's rows are changes, of which a key may have several, rather than plain rows."""
        return False

    @property
    def merges_on_read(self) -> bool:
        """Whether readers may see the table through a view, which merges its base with what has changed since."""
        return False

    @property
    def always_on_read(self) -> bool:
        """Whether readers always see the table through such a view."""
        return False

    @property
    def merge_keys(self) -> tuple[str, ...]:
        """The columns by which such a view merges."""
        return ()

    @property
    def new_commit_column(self) -> str:
        """The commit column of a new table of this model; empty if it is not of the append kind."""
        return ""

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """The partition columns of a new table of this model, including those that the write fills."""
        return (*self.partition_by, *filter(None, (self.new_commit_column,)))

    @property
    def filled_partition_columns(self) -> frozenset[str]:
        """Partition columns that the write itself may add to those of the model."""
        return frozenset(filter(None, (self.new_commit_column,)))

    def kept(self, base: Manifest, commit_column: str) -> list[str]:
        """What an existing table keeps although the model says otherwise, each as the end of a sentence.

        Args:
            commit_column: the table's own; empty if it has none.
        """
        columns = [column.name for column in base.partition_columns]
        wanted = distinct(self.partition_by)
        filled = (self.filled_partition_columns | {commit_column}) - set(wanted)
        found = []
        if wanted and tuple(name for name in columns if name not in filled) != wanted:
            by = ", ".join(columns) or "no column"
            found.append(f"is partitioned by {by}, and its model says {', '.join(wanted)}")
        if self.names_format and base.file_format != self.file_format:
            found.append(f"has files of {base.file_format}, and its model says {self.file_format}")
        return found

    def require_layout(self, table: object, commit_column: str) -> None:
        """Check that an existing table has the layout that the model asks for.

        Raises:
            InvalidConfig: it was created without a commit column, or with another one.
        """
        if self.new_commit_column not in ("", commit_column):
            raise InvalidConfig(
                expected=f"{table} to be partitioned by {self.new_commit_column} (append_layout 'commit_partitioned')",
                found=f"the commit column {commit_column}" if commit_column else "a table without one",
                action="Run the model with --full-refresh to rebuild the table, or correct the option.",
            )

    def keeps(self, columns: list[str]) -> list[str]:
        """The feed's columns that reach the table.

        Raises:
            InvalidConfig: the lists name columns that the feed does not have.
        """
        known = {name.lower() for name in columns}
        listed = [name.lower() for name in (*self.column_list, *self.except_column_list)]
        if missing := [name for name in listed if name not in known]:
            raise InvalidConfig(
                expected="column_list and except_column_list to name columns of the model",
                found=f"{', '.join(missing)}, which it does not have ({', '.join(sorted(known))})",
                action="Correct the list or the model's query.",
            )
        if self.column_list:
            return [name for name in columns if name.lower() in listed]
        return [name for name in columns if name.lower() not in listed]

    def generated(
        self, feed: DataFrame, base: Manifest | None, table: str, commit_column: str = ""
    ) -> tuple[HiveColumn, ...]:
        """The table's columns that the write fills itself.

        Args:
            base: the version that is written to; ``None`` for a new table.
            table: its name, for messages.
            commit_column: of a table of the append kind, the last partition column.

        Raises:
            InvalidConfig: the model selects such a column itself.
        """
        if not commit_column:
            return ()
        if commit_column in [name.lower() for name in self.keeps(feed.columns)]:
            raise InvalidConfig(
                expected=f"a model without the column {commit_column}, which gets the version of each commit",
                found="that its query selects one",
                action=f"Add except_column_list: ['{commit_column}'] to the model, or choose another commit_column.",
            )
        return (HiveColumn(commit_column, COMMIT_COLUMN_TYPE),)


def distinct(names: Iterable[str]) -> tuple[str, ...]:
    """Names in lower case, each once."""
    return tuple(dict.fromkeys(name.lower() for name in names))


def _plain(value: Any) -> Any:
    if isinstance(value, timedelta):
        return f"{int(value.total_seconds())} seconds"
    return list(value) if isinstance(value, tuple) else value
