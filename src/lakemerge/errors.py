"""Every error that lakemerge raises on purpose, in one place.

An error says what was expected, what was found, and what to do. It leaves the data as it was, unless it can come after
a commit was decided: CommitUnfinished, CommitInDoubt, ViewNotMade, NotErased and JavaDied.
"""

from __future__ import annotations

from typing import ClassVar

from lakemerge.redaction import redacted


class LakemergeError(Exception):
    """Base of all typed errors.

    Attributes:
        retriable: whether trying again later may succeed although nobody changed anything.
        sqlstate: what SQL calls such an error, for programs that reach lakemerge by SQL; the codes are those of Spark's
            own errors where it has such an error.

    Args:
        expected: what should have been the case.
        found: what was the case instead.
        action: what the reader of the message can do about it.
    """

    retriable: ClassVar[bool] = False
    sqlstate: ClassVar[str] = "HY000"

    def __init__(self, *, expected: str, found: str, action: str) -> None:
        # texts of Java, of dbt and of the system come with full stops and line ends of their own
        self.expected = redacted(expected).strip()
        self.found = redacted(found).strip().rstrip(". ")
        self.action = redacted(action).strip()
        super().__init__(f"Expected {self.expected}; found {self.found}. {self.action}")


def shown(value: object, most: int = 200) -> str:
    """A value for a message, cut after ``most`` characters."""
    try:
        return repr(value)[:most]
    except ValueError:
        # Python refuses to write a number of thousands of digits
        return f"a long {type(value).__name__}"


# -- Java --------------------------------------------------------------------------------------


class JavaNotFound(LakemergeError):
    """No Java starts on this machine."""


class JavaUnsupported(LakemergeError):
    """There is a Java, but of a version that Spark and Hadoop do not run on."""


# -- the metastore and the file system ---------------------------------------------------------


class MetastoreError(LakemergeError):
    """The metastore refused a call or could not be reached."""

    sqlstate = "58030"


class MetastoreLocked(MetastoreError):
    """The embedded metastore is open in another process."""

    retriable = True


class MetastoreUnreachable(MetastoreError):
    """Nothing answers at the metastore's address."""

    retriable = True


class StorageError(LakemergeError):
    """The file system refused a call or could not be reached."""

    sqlstate = "58030"
    retriable = True


class StorageUnreachable(StorageError):
    """The file system cannot be asked any more: the Java process that reaches it has ended."""


class WarehouseUnwritable(StorageError):
    """The warehouse's folder cannot be made or written."""

    retriable = False


# -- the Spark application ---------------------------------------------------------------------


class SparkNotStarted(LakemergeError):
    """Spark did not start."""

    sqlstate = "08001"


class JavaDied(LakemergeError):
    """The Java process that ran Spark ended in the middle of the work: out of memory, killed, crashed."""

    sqlstate = "08006"


class ClassesNotArchived(LakemergeError):
    """Java did not write an archive of its classes to start from."""


class SparkApplicationMismatch(LakemergeError):
    """This process already runs Spark, on another metastore or without Hive."""


class QueryTooDeep(LakemergeError):
    """Java ran out of stack while Spark read, planned or ran a query."""

    sqlstate = "54001"


# -- the state of a table ----------------------------------------------------------------------


class TableNotFound(LakemergeError):
    """The metastore has no such table."""

    sqlstate = "42P01"


class UnsupportedTable(LakemergeError):
    """The table is of a kind that lakemerge must not write: a view, Iceberg, Hive ACID, bucketed…"""

    sqlstate = "0A000"


class UnsupportedStatement(LakemergeError):
    """A SQL statement says something that lakemerge cannot do to a plain table."""

    sqlstate = "0A000"


class CorruptTable(LakemergeError):
    """The table's parameters and its manifests contradict each other."""

    sqlstate = "XX001"


class TableTooNew(LakemergeError):
    """The table was written by a newer lakemerge, with something that this one does not know."""

    sqlstate = "0A000"


class UnknownReference(LakemergeError):
    """No version of the table has this name."""

    sqlstate = "42704"


class VersionNotFound(LakemergeError):
    """The table has no such version."""

    sqlstate = "42704"


class VersionVacuumed(VersionNotFound):
    """The version was there, and vacuum has deleted what it consisted of."""


class TimeBeforeHistory(VersionNotFound):
    """The time is before the oldest version that is there."""


class TimeInFuture(VersionNotFound):
    """The time has not come yet, so the version that the table will have then is not known."""


class VersionChanged(LakemergeError):
    """Another program has removed or replaced files of a version, so that its rows cannot be read any more."""


class ForeignWrite(LakemergeError):
    """Another program changed the table's files and ``on_foreign_write`` is ``fail``, or keeps changing them."""


# -- commits -----------------------------------------------------------------------------------


class CommitConflict(LakemergeError):
    """Another commit changed what this one read or wrote; redo the work on the newer version."""

    sqlstate = "40001"
    retriable = True


class CommitsExhausted(LakemergeError):
    """The work was redone as often as allowed, and each time lost to another commit, or lost with an executor."""

    sqlstate = "40001"
    retriable = True


class ClaimHeld(LakemergeError):
    """Another writer holds the table's claim and is alive."""

    sqlstate = "40001"
    retriable = True


class CommitUnfinished(LakemergeError):
    """The commit stands, but its writer could not finish it; the next writer or ``recover`` does. Do not redo it."""

    sqlstate = "40003"


class ClaimRefused(MetastoreError):
    """The metastore refuses to show a version that a writer has claimed; no commit can follow until that is mended."""


class CommitInDoubt(MetastoreError):
    """The metastore went silent when the commit was decided: it may stand, or not, or come to stand later."""

    sqlstate = "40003"


class LeaseLost(LakemergeError):
    """A transaction gave no sign of life for too long, so other processes may have deleted what it kept on disk."""

    sqlstate = "40000"
    retriable = True


class NotPublished(LakemergeError):
    """What a run has staged to publish after its tests was not published, though nothing in the run had failed."""

    sqlstate = "40000"
    retriable = True


class ViewNotMade(LakemergeError):
    """A view that a run was to make when it had published its tables could not be made; the tables are published."""


class InvalidTransactionState(LakemergeError):
    """A call that this state of the transaction does not allow, such as a second commit."""

    sqlstate = "25000"


# -- a model's input ---------------------------------------------------------------------------


class InvalidConfig(LakemergeError):
    """A model's configuration contradicts itself or has a value that is not allowed."""

    sqlstate = "22023"


class UnsupportedColumnType(LakemergeError):
    """A column has a type that a Hive table cannot hold."""

    sqlstate = "0A000"


class UnsupportedColumnName(LakemergeError):
    """A column, or a field of a struct, has a name by which a table's readers would not find its values."""

    sqlstate = "42602"


class IncompatibleColumn(LakemergeError):
    """A column is missing or cannot be stored in the table's without loss."""

    sqlstate = "42K09"


class PartitionValueTooLong(IncompatibleColumn):
    """A value of a partition column is too long for the name of a directory, or of a partition."""

    sqlstate = "22001"


class Cancelled(LakemergeError):
    """The work was cancelled, because dbt was interrupted or another node failed with ``--fail-fast``."""

    sqlstate = "57014"


class SchemaChanged(IncompatibleColumn):
    """The columns differ and ``on_schema_change`` is ``fail``."""


class LedgerMismatch(LakemergeError):
    """The table's ledger was recorded for another key or sequence than the model's."""

    sqlstate = "22023"


class ConstraintViolated(LakemergeError):
    """Rows that were about to be published break an enforced constraint."""

    sqlstate = "23001"


class RowsDiffer(LakemergeError):
    """Files that were rewritten do not hold as many rows as were read for them; nothing was published."""

    retriable = True


class NullKey(LakemergeError):
    """A change has a null in its key."""

    sqlstate = "23502"


class CardinalityViolation(LakemergeError):
    """Several rows of a MERGE's source change one row of the table."""

    sqlstate = "23K01"


class DuplicateKey(LakemergeError):
    """Several rows have one key where each key may have one."""

    sqlstate = "23505"


class NullSequence(LakemergeError):
    """A change has no place in the order of changes."""

    sqlstate = "23502"


class UnavailableValue(LakemergeError):
    """A change does not bring a value that its table needs."""

    sqlstate = "22000"


class AmbiguousChange(LakemergeError):
    """Several different changes of one key have the same place in the order, and each may be the one that counts."""

    sqlstate = "23K01"


class EventTimeOutsideBatch(LakemergeError):
    """A microbatch has rows whose event time is outside of its range."""

    sqlstate = "22008"


class EmptySync(LakemergeError):
    """A full synchronisation with an empty input would delete every row."""

    sqlstate = "22000"


# -- erasure -----------------------------------------------------------------------------------


class NotErased(LakemergeError):
    """Files still hold rows that were to be erased; these are deleted from the newest versions."""

    sqlstate = "55000"


# -- landed files and their records ------------------------------------------------------------


class LandingNotFound(StorageError):
    """A landing folder that an ingest is to read does not exist."""

    retriable = False


class UnreadableFile(StorageError):
    """A landed file cannot be read to its end: truncated, damaged, or not of the declared format."""

    retriable = False


class FileChanged(StorageError):
    """A landed file was changed after it had been read, and the model's policy is to stop."""

    retriable = False


class BadRecords(LakemergeError):
    """More records break the declared format or schema than the model allows."""

    sqlstate = "22000"


# -- topics ------------------------------------------------------------------------------------


class ConnectorMissing(LakemergeError):
    """Spark was started without its connector for Kafka, or its package for Avro."""


class BrokerError(LakemergeError):
    """Kafka's brokers refused a call."""


class BrokerUnreachable(BrokerError):
    """No broker answers in time."""

    retriable = True


class TopicNotFound(BrokerError):
    """A topic that an ingest is to read does not exist."""


class TopicReplaced(LakemergeError):
    """A topic was deleted and created again after it had been read."""


class OffsetOutOfRange(LakemergeError):
    """Records of a topic were deleted before they were read: expired, or the partition was cut or set back."""


# -- consumers ---------------------------------------------------------------------------------


class ConsumerFenced(LakemergeError):
    """Another run has taken or committed what this one was to consume; nothing of this one was published."""

    sqlstate = "40001"
    retriable = True


class ConsumerExpired(LakemergeError):
    """Versions that the consumer still needs are gone: vacuumed after its pin expired, or of another table."""


class SourceRewritten(LakemergeError):
    """A partition was changed after it was consumed, and the policy is ``append_only``."""


class SourceChanged(LakemergeError):
    """Files of a source changed while they were being consumed."""

    retriable = True


# -- writers -----------------------------------------------------------------------------------


class InvalidRecord(LakemergeError):
    """A record does not match the table's columns."""

    sqlstate = "22000"


class WriterFenced(LakemergeError):
    """Another writer was opened with this one's name, so this one can no longer commit."""

    sqlstate = "40000"
