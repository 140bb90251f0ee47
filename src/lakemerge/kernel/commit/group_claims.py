"""How a commit of several tables is decided: claims in one order for all writers, then one call for all tables."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from lakemerge.errors import ClaimHeld, InvalidTransactionState, LakemergeError
from lakemerge.kernel.commit.commit import Commit
from lakemerge.kernel.commit.new_rows import NewRows
from lakemerge.kernel.commit.prepared import Prepared
from lakemerge.kernel.commit.table_commit import TableCommit
from lakemerge.kernel.ports.metastore import Refused
from lakemerge.kernel.protocol.groups import Group, Member
from lakemerge.kernel.protocol.versions import LostRace, lost_race
from lakemerge.kernel.table.definition import (
    ROOT,
    TABLE_ID,
    TRANSACTION,
    UNDECIDED,
    VERSION,
    new_table,
    with_parameters,
)
from lakemerge.kernel.table.overlay import has_base
from lakemerge.kernel.tables import Tables

_LOG = logging.getLogger("lakemerge")


def in_claim_order(tables: Sequence[TableCommit]) -> list[TableCommit]:
    """Tables in the order in which all groups claim them, so that no two wait for each other.

    Tables that are to be made come last: a name is either taken or free, so nobody waits for one.

    Raises:
        InvalidTransactionState: one is there twice.
    """
    names = [str(table.table) for table in tables]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidTransactionState(
            expected="a commit with one transaction for each table",
            found=f"several for {', '.join(twice)}",
            action="Do all that is to be done to a table by one transaction.",
        )
    return sorted(tables, key=lambda table: (table.base is None, table.table))


class GroupClaims:
    """Claims the tables of one commit, and decides it."""

    def __init__(
        self,
        tables: Tables,
        prepare: Callable[[TableCommit], Prepared],
        check_files: Callable[[Prepared], None],
        stands: Callable[[TableCommit], bool],
    ) -> None:
        """
        Args:
            prepare: checks a table's part and writes its manifest, on the newest version.
            check_files: looks once more whether another program has changed what was read.
            stands: whether a commit is in its table's history.
        """
        self._tables = tables
        self._new_rows = NewRows(tables)
        self._prepare = prepare
        self._check_files = check_files
        self._stands = stands

    def decide(self, commit: Commit) -> list[Prepared]:
        """Make a commit of several tables stand. Raises as :meth:`Committer.decide`."""
        members = tuple(_member(table) for table in commit.tables)
        for table in commit.tables:
            table.group = members[0].txn
            group = Group(members, table.parameters)
            self._tables.groups.write(table.layout, table.txn, group)
        prepared = [self._prepare(table) for table in commit.tables]
        try:
            for number, part in enumerate(prepared):
                prepared[number] = self._claim(part)
                self._tables.step("table claimed")
            for part in prepared:
                self._check_files(part)
            self._decide(commit, members)
        except BaseException as error:
            if not commit.in_doubt:
                self._give_up(commit, members, error)
            raise
        return prepared

    # -- claiming ------------------------------------------------------------------------------

    def _claim(self, part: Prepared) -> Prepared:
        """Claim a table on its newest version; tables that are claimed already stay claimed meanwhile."""
        latest: Prepared | None = part

        def attempt() -> Prepared:
            nonlocal latest
            current, latest = latest or self._prepare(part.table), None
            current.table.claim_sent = True
            if current.state is None:
                self._reserve(current)
            else:
                self._mark(current)
            return current

        return self._tables.retried(attempt, LostRace, first=0.01, longest=0.5)

    def _mark(self, part: Prepared) -> None:
        """Claim the next version; nothing else of the table's row changes, because the claim may be taken back."""
        value = {VERSION: f"{part.manifest.version}:{part.table.txn}{UNDECIDED}"}
        table_id = part.manifest.table_id
        if not self._tables.versions.compare_and_swap(
            part.row, table_id, part.expected, value, seen=part.seen
        ):
            raise lost_race(part.table.table)

    def _reserve(self, part: Prepared) -> None:
        """Take a new table's name, with a row that shows nothing."""
        table = part.table
        assert table.definition is not None
        location = table.layout.root if table.keys else table.layout.empty_of(table.txn)
        self._tables.files.make_directory(location)
        own = {
            VERSION: f"1:{table.txn}{UNDECIDED}",
            TRANSACTION: f"{table.txn}{UNDECIDED}",
            TABLE_ID: part.manifest.table_id,
            ROOT: table.layout.root,
        }
        row = with_parameters(
            new_table(table.definition, table.layout.root, location), {**table.parameters, **own}
        )
        self._new_rows.make_room(table)
        self._new_rows.put(table, row, lambda: self._tables.groups.is_marked(_member(table)))
        if has_base(self._tables.metastore, table.table):
            # the name was missing just then, because another table of this name gets a view, or gives it up
            raise table.is_made_by_another()
        self._require_open(table)

    def _require_open(self, table: TableCommit) -> None:
        """Make sure that nobody has begun to delete what the commit has made of a new table."""
        if not self._tables.creations.is_open(table.layout, table.txn):
            raise table.was_silent()

    # -- deciding ------------------------------------------------------------------------------

    def _decide(self, commit: Commit, members: tuple[Member, ...]) -> None:
        """The one step that makes the whole commit stand."""
        commit.in_doubt = True
        table, groups = commit.tables[0], self._tables.groups
        try:
            confirmed = groups.confirm(members[0])
        except (Refused, ClaimHeld):
            commit.in_doubt = False
            raise
        # while this process waited for an answer, the table may have got later commits, or have been dropped
        if confirmed or self._stands(table) or groups.has_confirmed(members):
            return
        commit.in_doubt = False
        raise table.was_silent()

    def _give_up(self, commit: Commit, members: tuple[Member, ...], error: BaseException) -> None:
        """Take back what was claimed, as far as an answer comes; whoever finds the rest releases it."""
        if not isinstance(error, Exception) or not any(table.claim_sent for table in commit.tables):
            return
        try:
            self._tables.releases.give_up(members)
            for table in commit.tables:
                self._new_rows.put_back(table)
        except LakemergeError as unanswered:  # what ended the commit matters more
            _LOG.warning("Claims of a commit that was given up could not be released: %s", unanswered)
            return
        for table in commit.tables:
            if table.base is None:
                table.claim_sent = False  # there is no row any more that needs its files


def _member(table: TableCommit) -> Member:
    table_id = table.base.table_id if table.base else table.table_id
    return Member(table.table, table_id, table.layout.root, table.txn)
