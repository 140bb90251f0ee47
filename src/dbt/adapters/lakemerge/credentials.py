"""What a profile says: the fields of ``type: lakemerge``."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from dbt.adapters.contracts.connection import Credentials
from dbt.flags import get_flags
from dbt_common.exceptions import DbtRuntimeError

from lakemerge.engine.options.names import meant
from lakemerge.engine.spark.configuration import EMBEDDED, is_thrift_uri
from lakemerge.redaction import redacted, remember


@dataclass
class LakemergeCredentials(Credentials):
    """A target of type ``lakemerge``.

    Raises:
        DbtRuntimeError: a field has a value that cannot be used; the text names it and what is allowed.
    """

    # Spark has one level of names above tables; dbt's ``database`` is always empty.
    database: str | None = None  # type: ignore[assignment]

    # The metastore database in which models are built.
    schema: str = None  # type: ignore[assignment]

    # How Spark is reached. Commits need the driver's own JVM, so there is one way only.
    method: str = "session"

    # The folder (a path or a URI) below which schemas and tables are created. Without it,
    # spark-defaults.conf and hive-site.xml decide.
    warehouse: str | None = None

    # ``embedded`` (a Derby database in the warehouse, for one process at a time) or the URIs of a
    # metastore, ``thrift://host:port``, several separated by commas. Without it,
    # spark-defaults.conf and hive-site.xml decide.
    metastore: str | None = None

    # Settings of Spark and Hive, by name. Session settings apply to each of dbt's connections;
    # the others apply to the application, which is started once per process.
    server_side_parameters: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def __pre_deserialize__(cls, data: Any) -> Any:
        data = super().__pre_deserialize__(data)  # type: ignore[no-untyped-call]
        data.setdefault("database", None)
        # what is left out has defaults, so that a run would go to another metastore than the profile means
        slips = meant(data, [one.name for one in fields(cls)])
        if slips:
            raise DbtRuntimeError(
                f"Expected `{', '.join(slips.values())}` in the profile; found `{', '.join(slips)}`. "
                "Correct the name, or remove it."
            )
        return data

    def __post_init__(self) -> None:
        if not self.schema:
            raise DbtRuntimeError(
                "Expected `schema` in the profile; found none. Name the metastore database to build in."
            )
        if self.database and self.database != self.schema:
            raise DbtRuntimeError(
                f"Expected `database` to be absent or equal to `schema` ({self.schema}); "
                f"found {self.database}. Spark has one level of names above tables: remove `database`."
            )
        self.database = None
        if self.method != "session":
            raise DbtRuntimeError(
                f"Expected `method: session` in the profile; found {self.method!r}. "
                "Commits need the Spark driver's own JVM: leave `method` out or set it to session."
            )
        self._check_metastore()
        self.server_side_parameters = {
            str(name): _text(value) for name, value in (self.server_side_parameters or {}).items()
        }
        remember(self.server_side_parameters)
        # dbt's and dbt-spark's macros are written for casts that give null instead of an error;
        # dbt-spark's own credentials force this too. By default, Spark 4 has ANSI on.
        self.server_side_parameters["spark.sql.ansi.enabled"] = "false"

    def _check_metastore(self) -> None:
        if self.metastore is None:
            return
        self.metastore = self.metastore.strip()
        if self.metastore == EMBEDDED:
            return
        for uri in self.metastore.split(","):
            if not is_thrift_uri(uri.strip()):
                raise DbtRuntimeError(
                    f"Expected `metastore` to be {EMBEDDED} or thrift://host:port "
                    f"(several separated by commas); found {redacted(repr(uri.strip()))}. Correct it in the "
                    "profile, or leave it out to use the one in hive-site.xml."
                )

    @property
    def type(self) -> str:
        """The adapter's name."""
        return "lakemerge"

    @property
    def folder(self) -> Path:
        """Where relative paths begin: dbt finds its project from any folder, so the tables must be too."""
        return Path(getattr(get_flags(), "PROJECT_DIR", None) or ".").resolve()

    @property
    def unique_field(self) -> str:
        """Distinguishes one installation from another; dbt hashes it."""
        return f"{self.metastore or 'configured'}|{self.warehouse or 'configured'}"

    def _connection_keys(self) -> tuple[str, ...]:
        # what `dbt debug` prints, and what `target` has; server_side_parameters hold the keys of object stores
        return "database", "method", "schema", "metastore", "warehouse"


def _text(value: Any) -> str:
    # YAML's true and false are Spark's "true" and "false", not Python's "True"
    return str(value).lower() if isinstance(value, bool) else str(value)
